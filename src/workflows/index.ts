/** What the workflow bundle is made of. */
export { agentTurn } from './agent-turn.js';
