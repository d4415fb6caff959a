/**
 * The keys that make appends idempotent: unique in a session, made from what caused the event and never from chance,
 * so that whoever appends the same fact again meets the one that stands there (DESIGN, principle 4).
 */
import type { ApprovalId, ItemId, QuestionId, RequestId } from './ids.js';

const path = (...parts: number[]) => parts.join('.');

export const eventKeys = {
  sessionCreated: () => 'session/created',
  prompt: (requestId: RequestId) => `prompt/${requestId}`,
  /** The `n`th change of an item, from 1. */
  item: (itemId: ItemId, n: number) => `item/${itemId}/${String(n)}`,
  claim: (turn: number, step: number, target: 'next-turn' | 'next-step') =>
    `claim/${path(turn, step)}/${target}`,
  turnStart: (turn: number) => `turn/${String(turn)}/start`,
  turnEnd: (turn: number) => `turn/${String(turn)}/end`,
  cancelRequested: (turn: number) => `turn/${String(turn)}/cancel`,
  stepStart: (turn: number, step: number) => `step/${path(turn, step)}/start`,
  stepEnd: (turn: number, step: number) => `step/${path(turn, step)}/end`,
  userMessage: (turn: number, step: number, n: number) => `user/${path(turn, step, n)}`,
  systemMessage: (turn: number, step: number) => `system/${path(turn, step)}`,
  requestHeader: (turn: number, step: number) => `header/${path(turn, step)}`,
  requestContext: (turn: number, step: number) => `context/${path(turn, step)}`,
  assistantMessage: (turn: number, step: number) => `message/${path(turn, step)}`,
  assistantAttempt: (turn: number, step: number, attempt: number) => `attempt/${path(turn, step, attempt)}`,
  llmRetry: (turn: number, step: number, attempt: number) => `retry/${path(turn, step, attempt)}`,
  toolCall: (turn: number, step: number, index: number) => `call/${path(turn, step, index)}`,
  toolStarted: (turn: number, step: number, index: number, attempt: number) =>
    `started/${path(turn, step, index, attempt)}`,
  toolResult: (turn: number, step: number, index: number) => `result/${path(turn, step, index)}`,
  approvalAsked: (turn: number, step: number, index: number) => `asked/${path(turn, step, index)}`,
  approvalDecided: (approvalId: ApprovalId) => `decided/${approvalId}`,
  questionAsked: (turn: number, step: number, index: number) => `question/${path(turn, step, index)}`,
  questionAnswered: (questionId: QuestionId) => `answered/${questionId}`,
  sessionRepaired: (turn: number) => `repaired/${String(turn)}`,
  /** @param runs how many runs had the turn before. */
  turnTakenOver: (turn: number, runs: number) => `repaired/${String(turn)}/run/${String(runs)}`,
  /** @param since ISO 8601. */
  turnInterrupted: (turn: number, since: string) => `repaired/${String(turn)}/since/${since}`,
  /** A session gets one title from its first prompt, and one from its model. */
  sessionTitle: (source: 'fallback' | 'model') => `title/${source}`,
  todoWrite: (turn: number, step: number, index: number) => `todo/${path(turn, step, index)}`,
} as const;
