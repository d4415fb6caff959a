/** API keys for tests of the API: made in its store, as `turnkeeper keys create` makes them. */
import { newKeySchema, type NewKey } from '../../src/contract/keys.js';
import { keyText, newKeyToken, secretDigest } from '../../src/store/key-token.js';
import type { KeyId } from '../../src/contract/ids.js';
import { call, type Answer, type ApiServer } from './api-server.js';

export const ALL_RIGHTS: NewKey['rights'] = ['submit', 'read', 'approve', 'admin'];

export interface TestKey {
  readonly id: KeyId;
  readonly text: string;
  readonly headers: { readonly authorization: string };
  /** A call with the key. */
  call(method: string, path: string, body?: unknown): Promise<Answer>;
}

/** Makes a key of the tenant `default` with all rights, but for what is changed. */
export async function makeKey(api: ApiServer, changes: Partial<NewKey> = {}): Promise<TestKey> {
  const token = newKeyToken();
  await api.store.keys.create({
    ...newKeySchema.parse({ name: 'ann', tenant: 'default', rights: ALL_RIGHTS, ...changes }),
    id: token.id,
    secretSha256: secretDigest(token.secret),
  });
  const text = keyText(token);
  const headers = { authorization: `Bearer ${text}` };
  return {
    id: token.id,
    text,
    headers,
    call: (method, path, body) => call(api.url + path, method, body, headers),
  };
}
