/** What the workflow bundle is made of. */
export { agentTurn } from './agent-turn.js';
export { followUp } from './follow-up.js';
