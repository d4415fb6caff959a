import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_PROFILE, type Profile } from '../../src/contract/configuration.js';
import { call, MODEL, startApi, type ApiServer } from './api-server.js';

let api: ApiServer;
const profiles = new Map<string, Profile>();
const models = [{ ...MODEL }];
beforeEach(async () => {
  const profile: Profile = { ...DEFAULT_PROFILE, name: 'default', provider: 'demo', model: 'demo' };
  profiles.clear();
  profiles.set('default', profile).set('passing', { ...profile, name: 'passing', model: 'passing' });
  models.splice(0, models.length, MODEL, { ...MODEL, model: 'passing' });
  api = await startApi({ profiles, models });
});
afterEach(() => api.stop());

/** The operator takes out what the first request named. */
const reconfigure = () => {
  profiles.delete('passing');
  models.pop();
};
const post = (path: string, body: unknown) => call(`${api.url}${path}`, 'POST', body);

describe('a request that was taken once, and comes again after the configuration has changed', () => {
  it('finds the session that it created, in place of a profile that is gone', async () => {
    const body = { id: 's', profile: 'passing', model: 'passing' };
    const first = await post('/v1/sessions', body);
    reconfigure();
    const again = await post('/v1/sessions', body);
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body).toMatchObject({ id: 's', profile: 'passing' });
    expect((await post('/v1/sessions', { ...body, title: 'other' })).body).toMatchObject({
      status: 409,
      code: 'SESSION_CONFLICT',
      field: 'id',
    });
    expect((await post('/v1/sessions', { profile: 'passing' })).status).toBe(400);
  });

  it('finds the session whose workspace is gone', async () => {
    const body = { id: 's', workspace: api.workspace };
    await post('/v1/sessions', body);
    rmSync(api.workspace, { recursive: true });
    expect((await post('/v1/sessions', body)).status).toBe(200);
  });

  it('is the same prompt, in place of a model that is gone', async () => {
    await post('/v1/sessions', { id: 's' });
    const body = { text: 'go', model: 'passing', requestId: 'r' };
    const first = await post('/v1/sessions/s/prompts', body);
    reconfigure();
    const again = await post('/v1/sessions/s/prompts', body);
    expect([first.status, again.status]).toEqual([202, 200]);
    expect(again.body).toEqual({ ...(first.body as object), duplicate: true });
    expect((await post('/v1/sessions/s/prompts', { ...body, text: 'other' })).body).toMatchObject({
      status: 422,
    });
    expect((await post('/v1/sessions/s/prompts', { ...body, requestId: 'q' })).body).toMatchObject({
      status: 400,
      field: 'model',
    });
  });

  it.each([{}, { sessionId: 's' }])('is the same job: %j', async (where) => {
    await post('/v1/sessions', { id: 's' });
    const own = 'sessionId' in where ? { model: 'passing' } : { profile: 'passing' };
    const body = { prompt: 'go', requestId: 'r', ...where, ...own };
    const first = await post('/v1/turns', body);
    reconfigure();
    const again = await post('/v1/turns', body);
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(again.body).toEqual(first.body);
    expect((await post('/v1/turns', { ...body, prompt: 'other' })).body).toMatchObject({ status: 422 });
  });
});
