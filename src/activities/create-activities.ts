/** The activities of a worker, each a function over what it needs. */
import type { TurnActivities } from '../contract/agent-turn.js';
import { StoreError } from '../store/session-store.js';
import type { ActivityDeps } from './activity-deps.js';
import { unexpectedFailure } from './activity-scope.js';
import { createAdvance } from './advance.js';
import { createCallModel } from './call-model.js';
import { createReadTimeLeft } from './read-time-left.js';
import { createRunTool } from './run-tool.js';

export function createActivities(deps: ActivityDeps): TurnActivities {
  const advance = createAdvance(deps);
  const runTool = createRunTool(deps);
  return {
    advance: guarded(deps, async (input) => {
      try {
        return await advance(input);
      } catch (error) {
        // A session that was deleted has no turn left to advance.
        if (error instanceof StoreError && error.code === 'SESSION_NOT_FOUND') return { kind: 'ended' };
        throw error;
      }
    }),
    readTimeLeft: guarded(deps, createReadTimeLeft(deps)),
    callModel: guarded(deps, createCallModel(deps, runTool)),
    runTool: guarded(deps, async (call) => {
      return (await runTool(call)) === 'waiting' ? 'waiting' : 'settled';
    }),
  };
}

/** The activity, which throws only what the engine can route; what it hides from the engine stands in the server's log. */
function guarded<I extends { readonly turn: number }, O>(
  { logger }: Pick<ActivityDeps, 'logger'>,
  activity: (input: I) => Promise<O>,
): (input: I) => Promise<O> {
  return async (input) => {
    try {
      return await activity(input);
    } catch (error) {
      const failure = unexpectedFailure(error);
      if (failure !== error) logger.error({ err: error, input }, 'an activity failed unexpectedly');
      throw failure;
    }
  };
}
