/**
 * The door: who asks, whether the call is among the key's rights, and whether the key has asked too often.
 *
 * The key is looked up for each request, so that a revocation holds at once in every process. What a key may do inside of
 * a call (modes, workspaces, quota) is in `key-limits.ts`.
 */
import type { Request, RequestHandler } from 'express';
import type { KeyId } from '../../contract/ids.js';
import type { ApiKey } from '../../contract/keys.js';
import { isSecretOf, parseKeyToken } from '../../store/key-token.js';
import type { AppDeps } from '../app-deps.js';
import { ProblemError } from '../problem.js';
import { LOCAL, setContext } from '../request-context.js';
import { KEY_CHECK_INTERVAL_MS, OpenRequests } from './open-requests.js';
import { rightOf } from './route-rights.js';
import { TokenBucket } from './token-bucket.js';

/** How late a key's last use may be written. */
const USE_WRITTEN_AFTER_MS = 60_000;

/** Lets pass who may, with its context set. @throws `ProblemError` `UNAUTHENTICATED`, `FORBIDDEN`, `RATE_LIMITED`. */
export function createAuthentication({ store, clock, logger, settings }: AppDeps): RequestHandler {
  const buckets = new Map<KeyId, TokenBucket>();
  const open = new OpenRequests(store.keys, settings.keyCheckIntervalMs ?? KEY_CHECK_INTERVAL_MS);
  let areKeysNeeded = settings.keys === 'required';

  return async (request, response, next) => {
    const right = rightOf(request.method, request.path);
    if (right === null) {
      next();
      return;
    }
    // Keys are never removed, so it is asked until there is one.
    areKeysNeeded ||= await store.keys.exist();
    if (!areKeysNeeded) {
      setContext(request, LOCAL);
      next();
      return;
    }
    const key = await keyOf(request);
    if (!key.rights.includes(right)) {
      throw new ProblemError(
        'FORBIDDEN',
        `The key "${key.name}" lacks the right "${right}", which this call needs.`,
      );
    }
    takeToken(key);
    markUsed(key);
    open.add(key.id, response);
    setContext(request, { tenant: key.tenant, by: key.name, key });
    next();
  };

  async function keyOf(request: Request): Promise<ApiKey> {
    const text = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    if (text === undefined) {
      throw new ProblemError(
        'UNAUTHENTICATED',
        'This server needs an API key: "Authorization: Bearer tk_…". "turnkeeper keys create" makes one.',
        'Authorization',
      );
    }
    const token = parseKeyToken(text);
    const key = token && (await store.keys.find(token.id));
    if (key === undefined || !isSecretOf(token?.secret ?? '', key.secretSha256) || key.revokedAt !== null) {
      throw new ProblemError('UNAUTHENTICATED', 'The API key is not known, or was revoked.', 'Authorization');
    }
    return key;
  }

  function takeToken({ id, name, requestsPerMinute }: ApiKey): void {
    if (requestsPerMinute === null) return;
    const bucket = buckets.get(id) ?? new TokenBucket(requestsPerMinute, clock);
    buckets.set(id, bucket);
    const waitMs = bucket.take();
    if (waitMs === 0) return;
    throw new ProblemError(
      'RATE_LIMITED',
      `The key "${name}" may send ${String(requestsPerMinute)} requests a minute.`,
      undefined,
      Math.ceil(waitMs / 1000),
    );
  }

  function markUsed({ id, lastUsedAt }: ApiKey): void {
    if (lastUsedAt !== null && clock() - Date.parse(lastUsedAt) < USE_WRITTEN_AFTER_MS) return;
    // Nobody waits for it, and nothing hangs on it.
    store.keys.markUsed(id).catch((error: unknown) => {
      logger.warn({ err: error, key: id }, 'the last use of a key was not written');
    });
  }
}
