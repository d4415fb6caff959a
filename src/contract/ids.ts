/**
 * The identifiers that pass between the rooms of Turnkeeper, as branded strings.
 *
 * Owns their shapes and how derived ids are spelled. Does not make new random ids: an id source is a
 * dependency that the caller brings (see `IdSource`).
 */
import { z } from 'zod';

/** Given by the caller, or a UUIDv7: 1 to 128 of `A-Z a-z 0-9 . _ -`, the first a letter or a digit. */
export const sessionIdSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    'must be 1 to 128 letters, digits, ".", "_" or "-", and start with a letter or a digit',
  )
  .brand<'SessionId'>();
export type SessionId = z.infer<typeof sessionIdSchema>;

/** A UUIDv7 that names one session for ever, also after its id was deleted and given again. */
export const sessionUidSchema = z.uuid().brand<'SessionUid'>();
export type SessionUid = z.infer<typeof sessionUidSchema>;

/** The caller's key for one prompt, unique in its session: 1 to 256 printable ASCII characters. */
export const requestIdSchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,256}$/, 'must be 1 to 256 printable ASCII characters without spaces')
  .brand<'RequestId'>();
export type RequestId = z.infer<typeof requestIdSchema>;

/** Names an item of the inbox; it stays the same through edits and moves. */
export const itemIdSchema = z.string().min(1).brand<'ItemId'>();
export type ItemId = z.infer<typeof itemIdSchema>;

export const messageIdSchema = z.string().min(1).brand<'MessageId'>();
export type MessageId = z.infer<typeof messageIdSchema>;

/** The provider's id of a tool call, or one that Turnkeeper made where that was empty or already used. */
export const callIdSchema = z.string().min(1).brand<'CallId'>();
export type CallId = z.infer<typeof callIdSchema>;

export const approvalIdSchema = z.string().min(1).brand<'ApprovalId'>();
export type ApprovalId = z.infer<typeof approvalIdSchema>;

export const questionIdSchema = z.string().min(1).brand<'QuestionId'>();
export type QuestionId = z.infer<typeof questionIdSchema>;

/** Names an API key; it is no secret. */
export const keyIdSchema = z
  .string()
  .regex(/^[a-z0-9]{12}$/)
  .brand<'KeyId'>();
export type KeyId = z.infer<typeof keyIdSchema>;

/** Lower-case hexadecimal SHA-256 of a blob's bytes. */
export const sha256Schema = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .brand<'Sha256'>();
export type Sha256 = z.infer<typeof sha256Schema>;

/** Makes ids; injected, so that contract, core and workflows stay free of randomness. */
export interface IdSource {
  /** A new UUIDv7 (RFC 9562): sorts by the time of its making. */
  uuid(): string;
}

/** Milliseconds since the Unix epoch; injected in the place of `Date.now`. */
export type Clock = () => number;

/**
 * The Temporal workflow id of a turn.
 *
 * @param deployment `engine.deployment` of the configuration, or '' where one installation has the namespace to itself.
 */
export function turnWorkflowId(deployment: string, uid: SessionUid, turn: number): string {
  const id = `turn/${uid}/${String(turn)}`;
  return deployment === '' ? id : `${deployment}/${id}`;
}
