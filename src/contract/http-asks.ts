/**
 * The HTTP API's bodies about approvals and questions: what is asked, and what people decide and answer (CONTRACT).
 */
import { z } from 'zod';
import {
  answerSchema,
  approvalOutcomeSchema,
  approvalPreviewSchema,
  approvalScopeSchema,
  argumentPatternSchema,
  questionSchema,
} from './events.js';
import { approvalIdSchema, callIdSchema, questionIdSchema, sessionIdSchema, sha256Schema } from './ids.js';

const ordinal = z.number().int().positive();
const timestamp = z.iso.datetime();

/** How an approval was closed. */
export const approvalDecisionSchema = z.strictObject({
  outcome: approvalOutcomeSchema,
  scope: approvalScopeSchema.optional(),
  by: z.string(),
  note: z.string().optional(),
  arguments: z.record(z.string(), z.json()).optional(),
  match: argumentPatternSchema.optional(),
  at: timestamp,
});

export const approvalResourceSchema = z.strictObject({
  approvalId: approvalIdSchema,
  sessionId: sessionIdSchema,
  turn: ordinal,
  step: ordinal,
  callId: callIdSchema,
  tool: z.string(),
  /** `{}` where the model's arguments are no object; such a call is never asked about. */
  arguments: z.record(z.string(), z.json()),
  argumentsSha256: sha256Schema,
  reason: z.string(),
  preview: approvalPreviewSchema.optional(),
  askedAt: timestamp,
  expiresAt: timestamp.optional(),
  decision: approvalDecisionSchema.optional(),
});
export type ApprovalResource = z.infer<typeof approvalResourceSchema>;

export const questionResourceSchema = z.strictObject({
  questionId: questionIdSchema,
  sessionId: sessionIdSchema,
  turn: ordinal,
  step: ordinal,
  callId: callIdSchema,
  questions: z.array(questionSchema),
  askedAt: timestamp,
  expiresAt: timestamp.optional(),
  answer: z
    .strictObject({
      outcome: z.enum(['answered', 'withdrawn', 'expired']),
      answers: z.array(answerSchema).nullable(),
      by: z.string(),
      at: timestamp,
    })
    .optional(),
});
export type QuestionResource = z.infer<typeof questionResourceSchema>;

const decisionFields = {
  outcome: z.enum(['allow', 'deny']),
  /** Of an allow; default `once`. */
  scope: approvalScopeSchema.optional(),
  /** Of an allow: what runs in the place of what the model asked for. */
  arguments: z.record(z.string(), z.json()).optional(),
  /** Of an allow for the session: which later calls it covers; default: those with the same arguments. */
  match: argumentPatternSchema.optional(),
  note: z.string().max(10_000).optional(),
};

export const decisionBodySchema = z.strictObject(decisionFields);
export type DecisionBody = z.infer<typeof decisionBodySchema>;

export const decisionsBodySchema = z.strictObject({
  decisions: z
    .array(z.strictObject({ approvalId: approvalIdSchema, ...decisionFields }))
    .min(1)
    .max(1000),
});
export type DecisionsBody = z.infer<typeof decisionsBodySchema>;

/** One decision of many: its HTTP status, and the problem's code where it was refused. */
export const decisionsAnswerSchema = z.strictObject({
  items: z.array(
    z.strictObject({ approvalId: approvalIdSchema, status: z.number().int(), code: z.string().optional() }),
  ),
});
export type DecisionsAnswer = z.infer<typeof decisionsAnswerSchema>;

export const answersBodySchema = z.strictObject({
  answers: z
    .array(
      z.strictObject({
        id: z.string(),
        selected: z.array(z.string()).default([]),
        text: z.string().max(100_000).optional(),
      }),
    )
    .max(100),
});
export type AnswersBody = z.infer<typeof answersBodySchema>;
