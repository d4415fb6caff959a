/**
 * What a person is shown of a session: a pure fold over the items of a follow.
 *
 * Owns the rule that a step shows the text of one attempt at most: frames are shown as they come, a withdrawn attempt
 * disappears, and the stored message takes the place of what was streamed. How it looks is the page's and the terminal's.
 */
import type { Frame } from '../contract/chunks.js';
import type { AssistantBlock, InputBlock } from '../contract/content.js';
import type { EventOf, SessionEvent, Todo } from '../contract/events.js';
import type { TurnEndReason } from '../contract/turn-end.js';
import type { FollowItem } from './follow.js';
import { askedEntry, type ApprovalEntry, type QuestionEntry } from './shown-asks.js';
import {
  type AssistantEntry,
  type CallEntry,
  type ShownBlock,
  startedEntry,
  type StepPlace,
  withChunks,
  withOutput,
} from './shown-frames.js';

export type TranscriptEntry =
  | { readonly kind: 'user'; readonly seq: number; readonly text: string }
  | AssistantEntry
  | CallEntry
  | ApprovalEntry
  | QuestionEntry
  | (StepPlace & { readonly kind: 'retry'; readonly code: string; readonly retryAt: string })
  | { readonly kind: 'end'; readonly turn: number; readonly reason: TurnEndReason };

export interface Transcript {
  readonly entries: readonly TranscriptEntry[];
  /** The session's list of things to do, as it is now. */
  readonly todos: readonly Todo[];
}

const EMPTY: Transcript = Object.freeze({ entries: [], todos: [] });

/** The transcript of a session of which nothing is known yet. */
export function createTranscript(): Transcript {
  return EMPTY;
}

/** The transcript after one more item. The old value is left as it was. */
export function foldTranscript(transcript: Transcript, item: FollowItem): Transcript {
  switch (item.type) {
    case 'event':
      return foldEvent(transcript, item.event);
    case 'frame':
      return foldFrame(transcript, item.frame);
    case 'state':
    case 'end':
      return transcript;
  }
}

function foldEvent(transcript: Transcript, event: SessionEvent): Transcript {
  switch (event.type) {
    case 'user/message':
      return event.data.source.kind === 'user'
        ? add(transcript, { kind: 'user', seq: event.seq, text: textOf(event.data.content) })
        : transcript;
    case 'assistant/attempt':
      return without(
        transcript,
        (entry) => isStreaming(entry, placeOf(event)) && entry.attempt <= event.data.attempt,
      );
    case 'llm/retry': {
      const { code, retryAt } = event.data;
      return add(transcript, { kind: 'retry', ...placeOf(event), code, retryAt });
    }
    case 'assistant/message':
      return put(transcript, settledEntry(event), (entry) => isStreaming(entry, placeOf(event)));
    case 'tool/call':
      return add(transcript, {
        kind: 'call',
        ...placeOf(event),
        index: event.data.index,
        callId: event.data.callId,
        name: event.data.name,
        arguments: rawArguments(event.data.arguments),
        state: 'running',
        output: '',
        attempt: 0,
        chunks: 0,
      });
    case 'tool/result':
      return change(transcript, isCall(event.data.callId), (call) => ({
        ...call,
        state: 'done',
        // The result takes the place of what was streamed.
        output: '',
        result: {
          text: textOf(event.data.content),
          isError: event.data.isError,
          ...(event.data.error === undefined ? {} : { code: event.data.error.code }),
        },
      }));
    case 'approval/asked':
    case 'question/asked':
      return add(transcript, askedEntry(event));
    case 'approval/decided':
      return change(transcript, isApproval(event.data.approvalId), (entry) => ({
        ...entry,
        decision: event.data,
      }));
    case 'question/answered':
      return change(transcript, isQuestion(event.data.questionId), (entry) => ({
        ...entry,
        answer: event.data,
      }));
    case 'todo/write':
      return { ...transcript, todos: event.data.todos };
    case 'turn/end':
      return add(transcript, { kind: 'end', turn: event.turn ?? 0, reason: event.data.reason });
    default:
      return transcript;
  }
}

function foldFrame(transcript: Transcript, frame: Frame): Transcript {
  if (frame.call !== undefined) {
    return change(transcript, isCallAt(frame), (call) => withOutput(call, frame));
  }
  const shown = transcript.entries.findLast(
    (entry): entry is AssistantEntry => entry.kind === 'assistant' && isAt(entry, frame),
  );
  if (shown !== undefined && (shown.state === 'settled' || shown.attempt > frame.attempt)) return transcript;
  const before = shown?.attempt === frame.attempt ? shown : startedEntry(frame);
  return put(transcript, withChunks(before, frame), (entry) => entry === shown);
}

function settledEntry(event: EventOf<'assistant/message'>): AssistantEntry {
  return {
    kind: 'assistant',
    ...placeOf(event),
    attempt: event.data.attempt,
    blocks: event.data.content.map(shownBlock),
    state: 'settled',
    interrupted: event.data.interrupted === true,
    chunks: 0,
  };
}

function shownBlock(block: AssistantBlock): ShownBlock {
  switch (block.type) {
    case 'text':
    case 'reasoning':
      return { type: block.type, text: block.text };
    case 'blob':
      return { type: 'text', text: block.head };
    case 'tool-call':
      return { type: 'tool-call', text: rawArguments(block.arguments), name: block.name };
  }
}

function rawArguments(value: EventOf<'tool/call'>['data']['arguments']): string {
  return typeof value === 'string' ? value : value.head;
}

function textOf(content: readonly InputBlock[]): string {
  return content
    .map((block) => (block.type === 'text' ? block.text : block.type === 'blob' ? block.head : ''))
    .join('');
}

function placeOf(event: SessionEvent): StepPlace {
  return { turn: event.turn ?? 0, step: event.step ?? 0 };
}

function isAt(entry: StepPlace, place: StepPlace): boolean {
  return entry.turn === place.turn && entry.step === place.step;
}

function isStreaming(entry: TranscriptEntry, place: StepPlace): entry is AssistantEntry {
  return entry.kind === 'assistant' && entry.state === 'streaming' && isAt(entry, place);
}

function isCall(callId: string) {
  return (entry: TranscriptEntry): entry is CallEntry => entry.kind === 'call' && entry.callId === callId;
}

function isCallAt(frame: Frame) {
  return (entry: TranscriptEntry): entry is CallEntry =>
    entry.kind === 'call' && isAt(entry, frame) && entry.index === frame.call;
}

function isApproval(approvalId: string) {
  return (entry: TranscriptEntry): entry is ApprovalEntry =>
    entry.kind === 'approval' && entry.approvalId === approvalId;
}

function isQuestion(questionId: string) {
  return (entry: TranscriptEntry): entry is QuestionEntry =>
    entry.kind === 'question' && entry.questionId === questionId;
}

function add(transcript: Transcript, entry: TranscriptEntry): Transcript {
  return { ...transcript, entries: [...transcript.entries, entry] };
}

function without(transcript: Transcript, gone: (entry: TranscriptEntry) => boolean): Transcript {
  return { ...transcript, entries: transcript.entries.filter((entry) => !gone(entry)) };
}

/** Puts the entry in the place of the one that it follows from, else at the end. */
function put(
  transcript: Transcript,
  entry: TranscriptEntry,
  replaces: (entry: TranscriptEntry) => boolean,
): Transcript {
  const at = transcript.entries.findLastIndex(replaces);
  return at === -1 ? add(transcript, entry) : { ...transcript, entries: transcript.entries.with(at, entry) };
}

function change<E extends TranscriptEntry>(
  transcript: Transcript,
  matches: (entry: TranscriptEntry) => entry is E,
  update: (entry: E) => TranscriptEntry,
): Transcript {
  const at = transcript.entries.findLastIndex(matches);
  const entry = transcript.entries[at];
  if (entry === undefined || !matches(entry)) return transcript;
  return { ...transcript, entries: transcript.entries.with(at, update(entry)) };
}
