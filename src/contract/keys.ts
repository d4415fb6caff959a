/**
 * API keys as they are asked for and shown: who may do what, where, and how much.
 *
 * A key's secret is in none of these; how it is spelled and kept is `store/key-token.ts`.
 */
import { z } from 'zod';
import { keyIdSchema } from './ids.js';
import { permissionModeSchema } from './session.js';

/**
 * `submit`: sessions, prompts, uploads, the queue, cancels. `read`: everything that shows and streams. `approve`: decisions
 * and answers. `admin`: deletions, and whatever else is for operators. None of them implies another.
 */
export const keyRightSchema = z.enum(['submit', 'read', 'approve', 'admin']);
export type KeyRight = z.infer<typeof keyRightSchema>;

/** Authors that the log has without a key. */
const TAKEN_NAMES: readonly string[] = ['local', 'turnkeeper'];

const ordinal = z.number().int().positive();

/** What a key is asked for. */
export const newKeySchema = z.strictObject({
  /** Whom the log names as the author of what the key causes. */
  name: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9 ._@+-]{0,63}$/,
      'must be 1 to 64 letters, digits, spaces or any of "._@+-", and start with a letter or a digit',
    )
    .refine(
      (name) => !TAKEN_NAMES.includes(name.toLowerCase()),
      'is a name that the log has for others; choose another one',
    ),
  tenant: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
      'must be 1 to 64 letters, digits, ".", "_" or "-", and start with a letter or a digit',
    ),
  rights: z.array(keyRightSchema).min(1),
  /** The widest permission mode that its sessions may have. */
  permission: permissionModeSchema.default('workspace-write'),
  /** Absolute folders in which its sessions may have their workspace; without any, only fresh ones. */
  workspaceRoots: z.array(z.string().startsWith('/')).default([]),
  /** Null is no limit. */
  requestsPerMinute: ordinal.max(1_000_000).nullable().default(null),
  /** How many prompts are accepted from it in a day of UTC; null is no limit. */
  promptsPerDay: ordinal.max(1_000_000_000).nullable().default(null),
});
export type NewKey = z.infer<typeof newKeySchema>;

/** A key as it is shown. Times are ISO 8601. */
export const apiKeySchema = newKeySchema.extend({
  id: keyIdSchema,
  createdAt: z.iso.datetime(),
  revokedAt: z.iso.datetime().nullable(),
  /** Written now and then, so up to a minute late. */
  lastUsedAt: z.iso.datetime().nullable(),
});
export type ApiKey = z.infer<typeof apiKeySchema>;
