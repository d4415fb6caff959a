/** How commands end: the exit codes that scripts rely on (DESIGN 14). */
import { assertNever } from '../contract/failures.js';
import type { TurnEndReason } from '../contract/turn-end.js';

export const EXIT = {
  completed: 0,
  error: 1,
  usage: 2,
  blocked: 3,
  /** The model's token limit, a limit of the turn, or `--timeout`. */
  limit: 4,
  /** A call needed an approval or an answer, and nobody could give it. */
  approvalUnavailable: 5,
  interrupted: 130,
} as const;

/** What `run` knows of how its turn went, beside the reason of its end. */
export interface RunCircumstances {
  readonly wasInterrupted: boolean;
  readonly wasTimedOut: boolean;
  /** Whether a call needed somebody who could answer, and nobody was there. */
  readonly lackedPerson: boolean;
}

/** The exit code of a turn that has ended. */
export function exitCodeOf(reason: TurnEndReason, circumstances: RunCircumstances): number {
  if (circumstances.wasInterrupted) return EXIT.interrupted;
  switch (reason.kind) {
    case 'completed':
      return circumstances.lackedPerson ? EXIT.approvalUnavailable : EXIT.completed;
    case 'blocked':
      return EXIT.blocked;
    case 'max-tokens':
    case 'limit':
      return EXIT.limit;
    case 'aborted':
      return circumstances.wasTimedOut ? EXIT.limit : EXIT.interrupted;
    case 'error':
    case 'interrupted':
      return EXIT.error;
    default:
      return assertNever(reason);
  }
}

/** Why the turn ended, for a person; undefined where the answer says it all. */
export function endingOf(reason: TurnEndReason): string | undefined {
  switch (reason.kind) {
    case 'completed':
      return undefined;
    case 'aborted':
      return `The turn was cancelled by ${reason.by}.`;
    case 'blocked':
      return `The turn was blocked by ${reason.hook}: ${reason.note}`;
    case 'error':
      return `The turn failed: ${reason.message} (${reason.code})`;
    case 'max-tokens':
      return "The answer was cut: the model's token limit is reached.";
    case 'limit':
      return `The turn has reached its limit of ${reason.which}: ${String(reason.value)}.`;
    case 'interrupted':
      return `The turn could not go on: ${reason.note}`;
    default:
      return assertNever(reason);
  }
}
