/** What a person is shown of an approval or a question: what is asked, and how it was closed once it is. */
import type { ApprovalPreview, EventOf, Question } from '../contract/events.js';

interface AskPlace {
  readonly turn: number;
  readonly step: number;
  readonly callId: string;
  readonly expiresAt?: string | undefined;
}

/** It waits for as long as it has no `decision`. */
export interface ApprovalEntry extends AskPlace {
  readonly kind: 'approval';
  readonly approvalId: string;
  readonly tool: string;
  /** Raw JSON; of one that was moved to the blob store its beginning. */
  readonly arguments: string;
  readonly reason: string;
  readonly preview?: ApprovalPreview | undefined;
  readonly decision?: EventOf<'approval/decided'>['data'];
}

/** It waits for as long as it has no `answer`. */
export interface QuestionEntry extends AskPlace {
  readonly kind: 'question';
  readonly questionId: string;
  readonly questions: readonly Question[];
  readonly answer?: EventOf<'question/answered'>['data'];
}

/** The entry of an ask that waits. */
export function askedEntry(
  event: EventOf<'approval/asked' | 'question/asked'>,
): ApprovalEntry | QuestionEntry {
  const place = { turn: event.turn ?? 0, step: event.step ?? 0 };
  if (event.type === 'question/asked') return { kind: 'question', ...place, ...event.data };
  const { approvalId, callId, tool, arguments: raw, reason, preview, expiresAt } = event.data;
  return {
    kind: 'approval',
    ...place,
    approvalId,
    callId,
    tool,
    arguments: typeof raw === 'string' ? raw : raw.head,
    reason,
    preview,
    expiresAt,
  };
}
