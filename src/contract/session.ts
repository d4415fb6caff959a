/** What a session is set to: the choices that hold for all of its turns until they are changed. */
import { z } from 'zod';

export const permissionModeSchema = z.enum(['read-only', 'workspace-write', 'full-access']);
/** What tools may do without asking (TOOLS, permission modes). */
export type PermissionMode = z.infer<typeof permissionModeSchema>;

/** Limits of one turn; null is no limit. `wallTimeMs` leaves out the time spent waiting for a person. */
export const turnLimitsSchema = z.strictObject({
  steps: z.number().int().positive().nullable(),
  wallTimeMs: z.number().int().positive().nullable(),
  tokens: z.number().int().positive().nullable(),
  costUsd: z.number().positive().nullable(),
});
export type TurnLimits = z.infer<typeof turnLimitsSchema>;

/** Limits on what a whole session spends, over all of its turns; null is no limit. */
export const sessionLimitsSchema = turnLimitsSchema.pick({ tokens: true, costUsd: true });
export type SessionLimits = z.infer<typeof sessionLimitsSchema>;

/** Free strings that the caller keeps with a session: at most 32, keys up to 64 and values up to 512 characters. */
export const metadataSchema = z
  .record(z.string().min(1).max(64), z.string().max(512))
  .refine((value) => Object.keys(value).length <= 32, 'may hold at most 32 entries');
export type Metadata = z.infer<typeof metadataSchema>;

/**
 * The settings of `session/created`. `workspace` is an absolute folder. `provider`, `model`, `permission` and `limits`
 * are what the session asked for beyond its profile; where one is absent the profile decides at each turn.
 */
export const sessionSettingsSchema = z.strictObject({
  workspace: z.string().min(1),
  profile: z.string().min(1),
  provider: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  permission: permissionModeSchema.optional(),
  limits: turnLimitsSchema.partial().optional(),
  metadata: metadataSchema.optional(),
});
export type SessionSettings = z.infer<typeof sessionSettingsSchema>;

/** A change of settings; `title` is its own event. */
export const sessionSettingsChangesSchema = sessionSettingsSchema.omit({ workspace: true }).partial();
