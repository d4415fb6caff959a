/** The activities of a worker, each a function over what it needs. */
import { ApplicationFailure } from '@temporalio/activity';
import { ACTIVITY_FAILURE, type TurnActivities } from '../contract/agent-turn.js';
import type { FollowUpActivities, FollowUpRef } from '../contract/follow-up.js';
import { StoreError } from '../store/session-store.js';
import type { ActivityDeps } from './activity-deps.js';
import { unexpectedFailure } from './activity-scope.js';
import { createAdvance } from './advance.js';
import { createCallModel } from './call-model.js';
import { createReadTimeLeft } from './read-time-left.js';
import { createDeliverWebhook } from './deliver-webhook.js';
import { createRunTool } from './run-tool.js';
import { createWriteTitle } from './write-title.js';

export function createActivities(deps: ActivityDeps): TurnActivities & FollowUpActivities {
  const advance = createAdvance(deps);
  const runTool = createRunTool(deps);
  return {
    // A session that was deleted has no turn left to advance, and nothing that follows one.
    advance: guarded(deps, (input) => unlessDeleted(() => advance(input), { kind: 'ended' })),
    readTimeLeft: guarded(deps, createReadTimeLeft(deps)),
    deliverWebhook: followUp(deps, createDeliverWebhook(deps)),
    writeTitle: followUp(deps, createWriteTitle(deps)),
    callModel: guarded(deps, createCallModel(deps, runTool)),
    runTool: guarded(deps, async (call) => {
      return (await runTool(call)) === 'waiting' ? 'waiting' : 'settled';
    }),
  };
}

function followUp(
  deps: ActivityDeps,
  activity: (ref: FollowUpRef) => Promise<void>,
): (ref: FollowUpRef) => Promise<void> {
  return guarded(deps, (ref) => unlessDeleted(() => activity(ref), undefined));
}

async function unlessDeleted<T>(work: () => Promise<T>, deleted: T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreError && error.code === 'SESSION_NOT_FOUND') return deleted;
    throw error;
  }
}

/**
 * The activity, which throws only what the engine can route; what it hides from the engine stands in the server's log.
 * There too stands that an attempt was given up, whichever it was and however it came to know.
 */
function guarded<I extends { readonly turn: number }, O>(
  { logger }: Pick<ActivityDeps, 'logger'>,
  activity: (input: I) => Promise<O>,
): (input: I) => Promise<O> {
  return async (input) => {
    try {
      return await activity(input);
    } catch (error) {
      const failure = unexpectedFailure(error);
      if (isOfType(failure, ACTIVITY_FAILURE.attemptSuperseded))
        logger.warn({ input }, 'an attempt was given up and wrote nothing more');
      else if (isOfType(failure, ACTIVITY_FAILURE.storeUnavailable))
        logger.warn({ err: error, input }, 'the session log does not answer; the activity is tried again');
      else if (failure !== error) logger.error({ err: error, input }, 'an activity failed unexpectedly');
      throw failure;
    }
  };
}

function isOfType(failure: unknown, type: string): boolean {
  return failure instanceof ApplicationFailure && failure.type === type;
}
