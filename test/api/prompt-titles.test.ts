/** Titles from first prompts, and what becomes of them where a person has given one. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionResource, TurnResource } from '../../src/contract/http.js';
import { call, newSession, startApi, type ApiServer } from './api-server.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.stop());

const titleOf = async (id: string) =>
  ((await call(`${api.url}/v1/sessions/${id}`, 'GET')).body as SessionResource).title;
const prompt = (id: string, body: Record<string, unknown>) =>
  call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', body);
const titlesIn = async (id: string) => {
  const events = await api.store.readEvents(await api.uidOf(id), { limit: 100 });
  return events.flatMap((event) => (event.type === 'session/title' ? [event.data] : []));
};

describe('the first prompt of a session', () => {
  it('gives it a title at once, and later ones leave it', async () => {
    const { id } = await newSession(api);
    await prompt(id, { text: 'Find the\nbug in parser.ts' });
    expect(await titleOf(id)).toBe('Find the bug in parser.ts');
    await prompt(id, { text: 'And now something else' });
    expect(await titlesIn(id)).toEqual([{ title: 'Find the bug in parser.ts', source: 'fallback' }]);
  });

  it('gives none where a person has given one', async () => {
    const { id } = await newSession(api, { title: 'Mine' });
    await prompt(id, { text: 'Find the bug' });
    expect(await titlesIn(id)).toEqual([{ title: 'Mine', source: 'user' }]);
  });

  it('gives one to the session of a job', async () => {
    const { body } = await call(`${api.url}/v1/turns`, 'POST', { prompt: 'Nightly report' });
    expect(await titleOf((body as TurnResource).sessionId)).toBe('Nightly report');
  });

  it('gives none where the profile wants none', async () => {
    const { id } = await newSession(api, { profile: 'untitled' });
    await prompt(id, { text: 'Find the bug' });
    expect(await titlesIn(id)).toEqual([]);
  });

  it('is answered with the cursor before its own events, the title among them', async () => {
    const { id, headSeq } = await newSession(api);
    const { body } = await prompt(id, { text: 'Find the bug' });
    expect(body).toMatchObject({ cursor: String(headSeq) });
  });
});
