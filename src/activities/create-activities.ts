/** The activities of a worker, each a function over what it needs. */
import type { TurnActivities } from '../contract/agent-turn.js';
import type { ActivityDeps } from './activity-deps.js';
import { createAdvance } from './advance.js';
import { createCallModel } from './call-model.js';
import { createRunTool } from './run-tool.js';

export function createActivities(deps: ActivityDeps): TurnActivities {
  return {
    advance: createAdvance(deps),
    callModel: createCallModel(deps),
    runTool: createRunTool(deps),
  };
}
