/** What a person is shown of a message and of a call while they come in, frame by frame. */
import type { Frame } from '../contract/chunks.js';

export interface StepPlace {
  readonly turn: number;
  readonly step: number;
}

export interface ShownBlock {
  readonly type: 'text' | 'reasoning' | 'tool-call';
  /** Of a call: the raw arguments. Of a text that was moved to the blob store: its beginning. */
  readonly text: string;
  /** Of a call. */
  readonly name?: string | undefined;
}

export interface AssistantEntry extends StepPlace {
  readonly kind: 'assistant';
  readonly attempt: number;
  readonly blocks: readonly ShownBlock[];
  readonly state: 'streaming' | 'settled';
  /** True for what was visible when the turn was cancelled. */
  readonly interrupted: boolean;
  /** How many chunks of the attempt are in it. */
  readonly chunks: number;
}

export interface CallEntry extends StepPlace {
  readonly kind: 'call';
  readonly index: number;
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  readonly state: 'running' | 'done';
  /** What it writes while it runs; withdrawn where the call is tried again, and replaced by its result. */
  readonly output: string;
  readonly attempt: number;
  readonly chunks: number;
  readonly result?: { readonly text: string; readonly isError: boolean; readonly code?: string };
}

/** The entry of an attempt of which nothing has come yet. */
export function startedEntry({ turn, step, attempt }: Frame): AssistantEntry {
  return {
    kind: 'assistant',
    turn,
    step,
    attempt,
    blocks: [],
    state: 'streaming',
    interrupted: false,
    chunks: 0,
  };
}

/** The message with what the frame adds to it. */
export function withChunks(entry: AssistantEntry, frame: Frame): AssistantEntry {
  const blocks = [...entry.blocks];
  const extend = (index: number, type: ShownBlock['type'], text: string, name?: string) => {
    const block = blocks[index] ?? { type, text: '' };
    blocks[index] = { ...block, text: block.text + text, name: name ?? block.name };
  };
  for (const chunk of newChunks(frame, entry.chunks)) {
    if (chunk.type === 'block-start') blocks[chunk.index] = { type: chunk.block, text: '' };
    if (chunk.type === 'text-delta') extend(chunk.index, 'text', chunk.text);
    if (chunk.type === 'reasoning-delta') extend(chunk.index, 'reasoning', chunk.text);
    if (chunk.type === 'tool-call-delta') {
      extend(chunk.index, 'tool-call', chunk.argumentsDelta, chunk.name);
    }
  }
  return { ...entry, blocks, chunks: Math.max(entry.chunks, frame.index + frame.chunks.length) };
}

/** The call with what the frame adds to its output. */
export function withOutput(call: CallEntry, frame: Frame): CallEntry {
  if (call.state === 'done' || frame.attempt < call.attempt) return call;
  const before = frame.attempt === call.attempt ? call : { ...call, output: '', chunks: 0 };
  const text = newChunks(frame, before.chunks)
    .map((chunk) => (chunk.type === 'tool-output' ? chunk.text : ''))
    .join('');
  return {
    ...before,
    attempt: frame.attempt,
    output: before.output + text,
    chunks: Math.max(before.chunks, frame.index + frame.chunks.length),
  };
}

/** The chunks of a frame that are not in it yet: the same frame twice changes nothing. */
function newChunks({ index, chunks }: Frame, known: number): Frame['chunks'] {
  return chunks.slice(Math.max(0, known - index));
}
