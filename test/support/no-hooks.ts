/** No hooks at all, for what a test does not ask of any. */
import type { TurnHooks } from '../../src/activities/turn-hooks.js';
import type { ToolHooks } from '../../src/tools/hooks.js';

export const NO_HOOKS: ToolHooks = {
  preExecute: [],
  guards: [],
  execute: [],
  postExecute: [],
  observers: [],
};

export const NO_TURN_HOOKS: TurnHooks = {
  preStep: [],
  request: [],
  stream: [],
  requestError: [],
  turnStopping: [],
};
