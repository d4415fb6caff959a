import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_PROFILE, type Profile } from '../../src/contract/configuration.js';
import { call, newSession, startApi, type ApiServer } from './api-server.js';

/** The configuration has lost the profile that the session was made under; `default` is not like it. */
let api: ApiServer;
beforeEach(async () => {
  const common: Profile = { ...DEFAULT_PROFILE, name: 'default', provider: 'demo', model: 'demo' };
  const profiles = new Map<string, Profile>([
    ['default', { ...common, permission: 'read-only', titles: 'off' }],
    ['gone', { ...common, name: 'gone', permission: 'full-access' }],
  ]);
  api = await startApi({ profiles });
  await newSession(api, { id: 's', profile: 'gone' });
  profiles.delete('gone');
});
afterEach(() => api.stop());

describe('a session whose profile has left the configuration', () => {
  it('is shown with what its turns will have, and keeps the name', async () => {
    const { body } = await call(`${api.url}/v1/sessions/s`, 'GET');
    expect(body).toMatchObject({
      profile: 'gone',
      provider: 'demo',
      model: 'demo',
      permission: 'read-only',
    });
  });

  it('gets prompts by the rules that are in force', async () => {
    expect((await call(`${api.url}/v1/sessions/s/prompts`, 'POST', { text: 'go' })).status).toBe(202);
    const { body } = await call(`${api.url}/v1/sessions/s`, 'GET');
    // The profile `default` gives no titles.
    expect(body).toMatchObject({ title: '' });
  });

  it('can choose another model, and another profile', async () => {
    const patch = (settings: unknown) => call(`${api.url}/v1/sessions/s`, 'PATCH', settings);
    expect((await patch({ model: 'large' })).body).toMatchObject({ model: 'large' });
    expect((await patch({ profile: 'default' })).body).toMatchObject({ profile: 'default' });
    expect((await patch({ profile: 'gone' })).body).toMatchObject({ code: 'INVALID_REQUEST' });
  });
});
