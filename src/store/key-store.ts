/**
 * Where API keys are kept: what every backend promises of them, proved by the contract suite of the store.
 *
 * Owns no secret: of that only the digest is kept (`key-token.ts`).
 */
import type { KeyId } from '../contract/ids.js';
import type { ApiKey, NewKey } from '../contract/keys.js';

/** A key as it is kept. */
export interface StoredKey extends ApiKey {
  /** The digest of its secret. */
  readonly secretSha256: string;
}

/** A key that is to be kept. */
export interface KeyToCreate extends NewKey {
  readonly id: KeyId;
  readonly secretSha256: string;
}

/** The keys of a store. Every process that has the store sees a change at once. */
export interface KeyStore {
  create(key: KeyToCreate): Promise<ApiKey>;
  /** The key, also where it is revoked. */
  find(id: KeyId): Promise<StoredKey | undefined>;
  /** All of them, oldest first. */
  list(): Promise<readonly ApiKey[]>;
  /** Ends the key for good; one that is revoked keeps its time. Undefined where there is none. */
  revoke(id: KeyId): Promise<ApiKey | undefined>;
  /** Whether there has ever been a key; one that is revoked counts, so that a revocation opens nothing. */
  exist(): Promise<boolean>;
  /** Remembers that the key was used now. */
  markUsed(id: KeyId): Promise<void>;
}
