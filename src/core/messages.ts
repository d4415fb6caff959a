/**
 * The conversation as a pure fold over the surface events of a log.
 *
 * Owns what a model is shown and in which order. Incremental: a worker keeps the fold and adds only newer events.
 */
import type { SessionEvent, Surface } from '../contract/events.js';
import type { Conversation, Message } from '../contract/messages.js';

/** A surface entry: a message, or the system text. */
type SurfaceEntry = Message | { readonly seq: number; readonly role: 'system'; readonly content: string };

/** The fold's state: the surface in its order, up to and with `headSeq`. */
export interface MessageFold {
  readonly headSeq: number;
  readonly entries: readonly SurfaceEntry[];
}

export const EMPTY_MESSAGES: MessageFold = Object.freeze({ headSeq: -1, entries: [] });

/** The fold after more events. The old value is left as it was. */
export function foldMessages(
  events: readonly SessionEvent[],
  from: MessageFold = EMPTY_MESSAGES,
): MessageFold {
  let entries: SurfaceEntry[] | undefined;
  let headSeq = from.headSeq;
  for (const event of events) {
    headSeq = event.seq;
    const entry = surfaceEntry(event);
    if (entry === undefined) continue;
    entries ??= [...from.entries];
    place(entries, entry, event.surface ?? 'append');
  }
  return { headSeq, entries: entries ?? from.entries };
}

function surfaceEntry(event: SessionEvent): SurfaceEntry | undefined {
  switch (event.type) {
    case 'system/message':
      return { seq: event.seq, role: 'system', content: event.data.content };
    case 'user/message':
      return { seq: event.seq, role: 'user', content: event.data.content };
    case 'assistant/message':
      return { seq: event.seq, role: 'assistant', content: event.data.content };
    case 'tool/result': {
      const { callId, content, isError } = event.data;
      return { seq: event.seq, role: 'user', content: [{ type: 'tool-result', callId, content, isError }] };
    }
    default:
      return undefined;
  }
}

function place(entries: SurfaceEntry[], entry: SurfaceEntry, surface: Surface): void {
  if (surface === 'append') {
    entries.push(entry);
    return;
  }
  const [startSeq, endSeq] = surface.replace;
  const first = entries.findIndex(({ seq }) => seq >= startSeq);
  const at = first === -1 ? entries.length : first;
  const replaced = entries.slice(at).filter(({ seq }) => seq <= endSeq).length;
  entries.splice(at, replaced, entry);
}

/** The conversation that the fold amounts to: the last system text and the messages in their order. */
export function conversationOf(fold: MessageFold): Conversation {
  let system = '';
  const messages: Message[] = [];
  for (const entry of fold.entries) {
    if (entry.role === 'system') system = entry.content;
    else messages.push(entry);
  }
  return { system, messages };
}

/** The conversation that a log amounts to. */
export function deriveMessages(events: readonly SessionEvent[]): Conversation {
  return conversationOf(foldMessages(events));
}
