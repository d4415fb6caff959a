/** Why a turn ended: a closed union, told apart by `kind`. */
import { z } from 'zod';

export const turnEndReasonSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('completed') }),
  z.strictObject({
    kind: z.literal('aborted'),
    cause: z.enum(['user', 'parent', 'shutdown', 'operator']),
    by: z.string(),
  }),
  z.strictObject({ kind: z.literal('blocked'), hook: z.string(), note: z.string() }),
  z.strictObject({
    kind: z.literal('error'),
    code: z.string(),
    message: z.string(),
    status: z.number().int().optional(),
    providerRequestId: z.string().optional(),
  }),
  z.strictObject({ kind: z.literal('max-tokens') }),
  z.strictObject({
    kind: z.literal('limit'),
    which: z.enum(['steps', 'time', 'tokens', 'cost']),
    value: z.number(),
  }),
  z.strictObject({ kind: z.literal('interrupted'), note: z.string() }),
]);
export type TurnEndReason = z.infer<typeof turnEndReasonSchema>;
