/**
 * How an API key is spelled, `tk_<id>_<secret>`, and how its secret is kept and compared.
 *
 * The secret has 256 random bits, so a plain digest hides it: there is nothing to guess from.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeyId } from '../contract/ids.js';

const SECRET_BYTES = 32;
const ID_LENGTH = 12;

/** A key's parts. */
export interface KeyToken {
  readonly id: KeyId;
  readonly secret: string;
}

/** Makes a key's parts from random bytes. */
export function newKeyToken(random: (bytes: number) => Buffer = randomBytes): KeyToken {
  return {
    id: random(ID_LENGTH / 2).toString('hex') as KeyId,
    secret: random(SECRET_BYTES).toString('base64url'),
  };
}

/** The key as its holder has it. */
export function keyText({ id, secret }: KeyToken): string {
  return `tk_${id}_${secret}`;
}

/** The parts of a key; undefined where the text is none. */
export function parseKeyToken(text: string): KeyToken | undefined {
  const match = /^tk_([a-z0-9]{12})_([A-Za-z0-9_-]{43})$/.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) return undefined;
  return { id: match[1] as KeyId, secret: match[2] };
}

/** What is kept of a secret: lower-case hexadecimal SHA-256 of its text. */
export function secretDigest(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Whether this is the secret of the digest. Takes as long for any secret. */
export function isSecretOf(secret: string, sha256: string): boolean {
  return timingSafeEqual(Buffer.from(secretDigest(secret), 'hex'), Buffer.from(sha256, 'hex'));
}
