/**
 * Opens the API keys of a configuration for one command, also while a server runs on the same store.
 *
 * SQLite lets a second process write for an instant. The schema is brought to this build's only where nobody has the
 * home: under a running server it has to be the server's.
 */
import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { newKeySchema, type ApiKey } from '../contract/keys.js';
import type { KeyId } from '../contract/ids.js';
import type { KeyStore } from '../store/key-store.js';
import { keyText, newKeyToken, secretDigest } from '../store/key-token.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import { loadConfiguration } from './configuration/load-configuration.js';
import type { ConfigurationFlags } from './configuration/settings.js';
import { storeLocation } from './configuration/store-location.js';
import { HomeLockedError } from './home/home-error.js';
import { acquireHomeLock, type HomeLock } from './home/home-lock.js';
import { prepareHome } from './home/prepare-home.js';

/** What a key is asked for, as a person writes it. */
export interface KeyRequest {
  readonly name: string;
  readonly tenant: string;
  readonly rights: readonly string[];
  readonly permission?: string | undefined;
  /** Existing folders; relative ones count from `workingFolder`. */
  readonly workspaceRoots?: readonly string[] | undefined;
  readonly requestsPerMinute?: number | undefined;
  readonly promptsPerDay?: number | undefined;
  readonly workingFolder: string;
}

/** The key cannot be made as it is asked for; the message says why. */
export class KeyRequestError extends Error {
  override readonly name = 'KeyRequestError';
}

/** Where the keys are, as `loadConfiguration` finds it. */
export interface KeyPlace {
  readonly flags: ConfigurationFlags;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Makes a key. Its text is in the answer and nowhere else.
 *
 * @throws KeyRequestError, ConfigurationError, HomeError, StoreError.
 */
export async function createKey(
  place: KeyPlace,
  { workingFolder, ...request }: KeyRequest,
): Promise<{ readonly key: ApiKey; readonly text: string }> {
  const parsed = newKeySchema.safeParse({
    ...request,
    workspaceRoots: request.workspaceRoots?.map((root) => realFolder(resolve(workingFolder, root))),
  });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new KeyRequestError(`${issue?.path.join('.') ?? 'The key'}: ${issue?.message ?? 'is not valid'}.`);
  }
  const token = newKeyToken();
  const key = await withKeys(place, (keys) =>
    keys.create({ ...parsed.data, id: token.id, secretSha256: secretDigest(token.secret) }),
  );
  return { key, text: keyText(token) };
}

/** All keys, oldest first, those that are revoked too. @throws ConfigurationError, HomeError, StoreError. */
export function listKeys(place: KeyPlace): Promise<readonly ApiKey[]> {
  return withKeys(place, (keys) => keys.list());
}

/** Ends a key for good; undefined where there is none of this id. @throws ConfigurationError, HomeError, StoreError. */
export function revokeKey(place: KeyPlace, id: string): Promise<ApiKey | undefined> {
  return withKeys(place, (keys) => keys.revoke(id as KeyId));
}

async function withKeys<T>({ flags, env }: KeyPlace, work: (keys: KeyStore) => Promise<T>): Promise<T> {
  const { configuration } = loadConfiguration({ flags, env });
  const location = storeLocation(configuration);
  prepareHome(configuration.home);
  const lock = lockOfNobody(configuration.home);
  try {
    const store = await openSqliteStore({
      path: location.file,
      clock: Date.now,
      migrates: lock !== undefined,
    });
    try {
      return await work(store.keys);
    } finally {
      await store.close();
    }
  } finally {
    lock?.release();
  }
}

/** The lock of the home where no process has it. */
function lockOfNobody(home: string): HomeLock | undefined {
  try {
    return acquireHomeLock(home);
  } catch (error) {
    if (error instanceof HomeLockedError) return undefined;
    throw error;
  }
}

function realFolder(path: string): string {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isFolder) throw new KeyRequestError(`${path} is no folder.`);
  return realpathSync(path);
}
