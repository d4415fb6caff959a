/**
 * What surrounds a running attempt: its heartbeat, and the ways in which it is told to stop.
 *
 * Owns the difference between a cancel, which is stored, and all other ends of an attempt (shutdown of the worker, an
 * attempt that was given up), which leave the turn to the next one.
 */
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { ACTIVITY_FAILURE, type TurnRef } from '../contract/agent-turn.js';
import { StoreError, type AttemptOwner, type SessionStore } from '../store/session-store.js';

/**
 * Why an attempt stops before its end. `cancelled`: the turn is cancelled, by the log or by the engine. `shutdown`: the
 * worker stops, and another one goes on. `given-up`: another attempt has its place; nothing may be written any more.
 */
export type StopCause = 'cancelled' | 'shutdown' | 'given-up';

/** The reason of the signal of an attempt that is to stop. */
export class AttemptStopped extends Error {
  override readonly name = 'AttemptStopped';
  constructor(readonly stopCause: StopCause) {
    super(`The attempt is to stop: ${stopCause}.`);
  }
}

export interface AttemptScope {
  readonly signal: AbortSignal;
  /** Stops the attempt from the inside. The first cause counts. */
  stop(cause: StopCause): void;
  /** Why the attempt was stopped, where it was. */
  readonly stopped: StopCause | undefined;
}

/** Runs `work` with a heartbeat, and with a signal that fires when the turn is cancelled or the attempt is given up. */
export async function withAttemptScope<T>(
  ref: TurnRef,
  deps: { readonly store: SessionStore; readonly heartbeatMs: number },
  work: (scope: AttemptScope) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const controller = new AbortController();
  let stopped: StopCause | undefined;
  const stop = (cause: StopCause): void => {
    if (stopped !== undefined) return;
    stopped = cause;
    controller.abort(new AttemptStopped(cause));
  };
  const onEngineCancel = (): void => {
    const details = context.cancellationDetails;
    if (details === undefined || details.cancelRequested) stop('cancelled');
    // It was silent for too long, or its workflow is gone.
    else if (details.notFound || details.timedOut) stop('given-up');
    // A shutdown, a pause, a reset: another attempt goes on.
    else stop('shutdown');
  };
  const engineSignal = context.cancellationSignal;
  if (engineSignal.aborted) onEngineCancel();
  else engineSignal.addEventListener('abort', onEngineCancel, { once: true });
  // The log is the fact and the bus the fast path: a cancel arrives here long before the engine's.
  const unwatch = deps.store.watch(ref.uid, (notice) => {
    if (notice.kind === 'deleted') stop('given-up');
    if (notice.kind !== 'events' || stopped !== undefined) return;
    void deps.store.readState(ref.uid).then(
      ({ openTurn }) => {
        if (openTurn?.number !== ref.turn) stop('given-up');
        else if (openTurn.cancel !== null) stop('cancelled');
      },
      // The next notice or the engine's own cancel tells it again.
      () => undefined,
    );
  });
  // On a timer and never on tokens: a model that thinks for minutes is alive.
  const heartbeat = setInterval(
    () => {
      context.heartbeat();
    },
    Math.max(50, deps.heartbeatMs / 4),
  );
  try {
    return await work({
      signal: controller.signal,
      stop,
      get stopped() {
        return stopped;
      },
    });
  } finally {
    clearInterval(heartbeat);
    unwatch();
    engineSignal.removeEventListener('abort', onEngineCancel);
  }
}

/** The owner of this activity's attempt. */
export function currentOwner(ref: TurnRef): AttemptOwner {
  const { info } = Context.current();
  return { run: ref.run, activityId: info.activityId, engineAttempt: info.attempt };
}

/**
 * What an activity throws for an error that it did not expect. The store being away is waited for; anything else would
 * only come again, so it ends the turn rather than repeats a model call or a tool without end.
 */
export function unexpectedFailure(error: unknown): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  if (!(error instanceof StoreError)) return activityFailures.unexpected('ActivityError');
  switch (error.code) {
    case 'STORE_UNAVAILABLE':
      return activityFailures.storeUnavailable();
    case 'SESSION_NOT_FOUND':
      return activityFailures.superseded();
    case 'ATTEMPT_FENCED':
      return activityFailures.givenUp();
    default:
      return activityFailures.unexpected(error.code);
  }
}

/**
 * Failures carry codes only: nothing that a user, a model or a provider wrote enters the engine, and no stack, which the
 * engine would keep at each retry and which tells of this machine.
 */
export const activityFailures = {
  superseded: () => final('The attempt was given up.', ACTIVITY_FAILURE.attemptSuperseded),
  /** Whoever gave it up takes no answer; should one be taken, the next try asks the log where the turn stands. */
  givenUp: () => retried('The attempt was given up.', ACTIVITY_FAILURE.attemptSuperseded, 100),
  /** A later try was here before: the next try comes after it. */
  stale: () =>
    retried('A later try of this activity has been here.', ACTIVITY_FAILURE.attemptSuperseded, 100),
  shutdown: () => retried('The worker shuts down.', ACTIVITY_FAILURE.workerShutdown, 100),
  storeUnavailable: () =>
    retried('The session log does not answer.', ACTIVITY_FAILURE.storeUnavailable, 1000),
  unexpected: (code: string) => final(code, code),
  modelAttemptFailed: (code: string, delayMs: number) =>
    retried(code, ACTIVITY_FAILURE.modelAttemptFailed, Math.max(1, delayMs)),
  /** @param delayMs what the other side asks for; else the engine's back-off. */
  followUpFailed: (code: string, delayMs: number | undefined) =>
    delayMs === undefined
      ? withoutStack(ApplicationFailure.retryable(code, ACTIVITY_FAILURE.followUpFailed))
      : retried(code, ACTIVITY_FAILURE.followUpFailed, delayMs),
  spendingLimitReached: (code: string) => final(code, ACTIVITY_FAILURE.spendingLimitReached),
  modelCallFailed: (code: string) => final(code, ACTIVITY_FAILURE.modelCallFailed),
} as const;

function final(message: string, type: string): ApplicationFailure {
  return withoutStack(ApplicationFailure.nonRetryable(message, type));
}

function retried(message: string, type: string, nextRetryDelay: number): ApplicationFailure {
  return withoutStack(ApplicationFailure.create({ message, type, nextRetryDelay }));
}

function withoutStack(failure: ApplicationFailure): ApplicationFailure {
  failure.stack = '';
  return failure;
}
