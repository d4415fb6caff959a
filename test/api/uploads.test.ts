import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { blobAnswerSchema, type Problem } from '../../src/contract/http.js';
import { call, MODEL, newSession, rawCall, startApi, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

const seeing = { ...MODEL, model: 'seeing', abilities: { ...MODEL.abilities, images: true, files: true } };
const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.from([0, 1, 2, 255])]);
const PDF = Buffer.from('%PDF-1.7\n');

let api: ApiServer;
let session: string;
beforeEach(async () => {
  api = await startApi({ settings: { uploadLimitBytes: 4096 }, models: [MODEL, seeing] });
  await newSession(api, { id: 's', model: 'seeing' });
  session = `${api.url}/v1/sessions/s`;
});
afterEach(() => api.stop());

async function upload(bytes: Uint8Array, type: string, where = session) {
  const response = await fetch(`${where}/blobs`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: Buffer.from(bytes),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}
const uploaded = async (bytes: Uint8Array, type: string) =>
  blobAnswerSchema.parse((await upload(bytes, type)).body).sha256;
const prompt = (content: unknown, more: object = {}) =>
  call(`${session}/prompts`, 'POST', { content, ...more });
const headSeq = async () => (await api.store.readState(await api.uidOf('s'))).headSeq;
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('an upload', () => {
  it('is kept under its digest, and comes back as a download of its type that nothing runs', async () => {
    const { status, headers, body } = await upload(PNG, 'Image/PNG');
    expect(status).toBe(201);
    expect(body).toEqual({ sha256: digest(PNG), bytes: PNG.byteLength, mediaType: 'image/png' });
    const location = headers.get('location') ?? '';
    expect(location).toBe(`/v1/sessions/s/blobs/${digest(PNG)}`);
    const back = await fetch(api.url + location);
    expect(Buffer.from(await back.arrayBuffer())).toEqual(PNG);
    expect(back.headers.get('content-type')).toBe('image/png');
    expect(back.headers.get('x-content-type-options')).toBe('nosniff');
    expect(back.headers.get('content-disposition')).toBe('attachment');
    expect(back.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
  });

  it('of the same bytes is the same blob, with the type that was said last', async () => {
    const text = Buffer.from('# Title');
    await upload(text, 'application/octet-stream');
    const again = await upload(text, 'text/markdown; charset=UTF-8');
    expect(again.body).toEqual({ sha256: digest(text), bytes: 7, mediaType: 'text/markdown' });
    const back = await fetch(`${session}/blobs/${digest(text)}`);
    expect(back.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  });

  it('of JSON is bytes like any other, also where they are no JSON', async () => {
    const { status, body } = await upload(Buffer.from('{broken'), 'application/json');
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ bytes: 7, mediaType: 'application/json' }),
    ]);
  });

  it('changes nothing in the log', async () => {
    const before = await headSeq();
    await upload(PNG, 'image/png');
    expect(await headSeq()).toBe(before);
  });

  it.each([4096, 4097])('is taken up to the limit, which a refusal names: %d bytes', async (size) => {
    const { status, body } = await upload(Buffer.alloc(size, 7), 'application/octet-stream');
    expect(status).toBe(size === 4096 ? 201 : 413);
    if (status === 201) return;
    expect(body).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect((body as Problem).detail).toContain('4096');
    expect((body as Problem).detail).toContain('server.uploadLimitBytes');
  });

  it('that does not say how large it is is read no further than the limit', async () => {
    const answer = await new Promise<number>((resolve, reject) => {
      const request = httpRequest(
        `${session}/blobs`,
        { method: 'POST', headers: { 'content-type': 'text/plain' } },
        (response) => {
          response.resume();
          request.end();
          resolve(response.statusCode ?? 0);
        },
      );
      request.on('error', reject);
      // It never ends by itself: the refusal comes while it is being sent.
      request.write(Buffer.alloc(8192, 65));
    });
    expect(answer).toBe(413);
  });

  it.each([
    ['without a type', PNG, undefined],
    ['with a type that is none', PNG, 'png'],
    ['with a type for any', PNG, '*/*'],
    ['of a form', PNG, 'multipart/form-data; boundary=x'],
    ['of another form', PNG, 'application/x-www-form-urlencoded'],
    ['of an image that is none', PDF, 'image/png'],
    ['of a PDF that is none', PNG, 'application/pdf'],
    ['of a text that is none', Buffer.from([0xc3, 0x28]), 'text/plain'],
    ['of a text in another charset', Buffer.from('a'), 'text/plain; charset=latin1'],
  ])('%s is refused with 415', async (_what, bytes, type) => {
    const { status, problem } = await rawCall(`${session}/blobs`, {
      method: 'POST',
      headers: type === undefined ? {} : { 'content-type': type },
      body: bytes,
    });
    expect(status).toBe(415);
    expect(problem).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE', field: 'Content-Type' });
    expect((await fetch(`${session}/blobs/${digest(bytes)}`)).status).toBe(404);
  });

  it('that is compressed or empty is refused', async () => {
    const packed = await rawCall(`${session}/blobs`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' },
      body: Buffer.from('x'),
    });
    expect(packed.problem).toMatchObject({ status: 415, field: 'Content-Encoding' });
    expect((await upload(Buffer.alloc(0), 'text/plain')).body).toMatchObject({ status: 400 });
  });

  it('to a session that does not exist, or is deleted meanwhile, is a 404', async () => {
    expect((await upload(PNG, 'image/png', `${api.url}/v1/sessions/none`)).status).toBe(404);
    let deleted: Promise<unknown> | undefined;
    const answer = new Promise<number>((resolve, reject) => {
      const request = httpRequest(
        `${session}/blobs`,
        { method: 'POST', headers: { 'content-type': 'image/png' } },
        (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        },
      );
      request.on('error', reject);
      request.write(PNG, () => {
        deleted = call(session, 'DELETE').then(() => request.end());
      });
    });
    expect(await answer).toBe(404);
    await deleted;
  });
});

describe('a prompt with images and files', () => {
  it('is taken as it is', async () => {
    const content = [
      { type: 'text', text: 'look' },
      { type: 'image', blob: await uploaded(PNG, 'image/png'), mediaType: 'image/png' },
      {
        type: 'file',
        blob: await uploaded(PDF, 'application/pdf'),
        name: 'a.pdf',
        mediaType: 'application/pdf',
      },
      {
        type: 'file',
        blob: await uploaded(Buffer.from('a,b'), 'text/csv'),
        name: 'a.csv',
        mediaType: 'text/csv',
      },
    ];
    expect((await prompt(content)).status).toBe(202);
    const { inbox } = await api.store.readState(await api.uidOf('s'));
    expect(inbox.nextTurn[0]?.content).toEqual(content);
  });

  it('is refused before anything is stored where a block does not fit, with its place and why', async () => {
    const image = await uploaded(PNG, 'image/png');
    const archive = await uploaded(Buffer.from('PK\x03\x04'), 'application/zip');
    const before = await headSeq();
    const cases: [unknown, string, string][] = [
      [{ type: 'image', blob: image, mediaType: 'image/jpeg' }, 'content.0.mediaType', 'image/png'],
      [{ type: 'file', blob: image, name: 'a', mediaType: 'text/plain' }, 'content.0.mediaType', 'image/png'],
      [
        { type: 'file', blob: image, name: 'a.png', mediaType: 'image/png' },
        'content.0.mediaType',
        'as file',
      ],
      [{ type: 'image', blob: archive, mediaType: 'application/zip' }, 'content.0.mediaType', 'as image'],
      [
        { type: 'file', blob: archive, name: 'a', mediaType: 'application/zip' },
        'content.0.mediaType',
        'PDF',
      ],
      [{ type: 'image', blob: digest(PDF), mediaType: 'image/png' }, 'content.0', 'upload it first'],
      [
        { type: 'blob', sha256: image, bytes: 12, mediaType: 'text/plain', head: '', tail: '' },
        'content.0',
        'image/png',
      ],
    ];
    for (const [block, field, word] of cases) {
      const { body } = await prompt([block]);
      expect(body).toMatchObject({ status: 400, code: 'INVALID_REQUEST', field });
      expect((body as Problem).detail).toContain(word);
    }
    expect(await headSeq()).toBe(before);
  });

  it('is refused by a model without the ability, but for text', async () => {
    const image = { type: 'image', blob: await uploaded(PNG, 'image/png'), mediaType: 'image/png' };
    const pdf = await uploaded(PDF, 'application/pdf');
    const file = { type: 'file', blob: pdf, name: 'a.pdf', mediaType: 'application/pdf' };
    const csv = await uploaded(Buffer.from('a,b'), 'text/csv');
    const text = { type: 'file', blob: csv, name: 'a.csv', mediaType: 'text/csv' };
    for (const [block, ability] of [
      [image, 'images'],
      [file, 'files'],
    ] as const) {
      const { body } = await prompt([block], { model: 'demo' });
      expect(body).toMatchObject({ status: 400, code: 'INVALID_REQUEST', field: 'content.0' });
      expect((body as Problem).detail).toContain(`demo/demo takes no ${ability}`);
    }
    expect((await prompt([text], { model: 'demo' })).status).toBe(202);
  });

  it('that steers is checked against the model of the running turn', async () => {
    const image = { type: 'image', blob: await uploaded(PNG, 'image/png'), mediaType: 'image/png' };
    await call(`${session}/prompts`, 'POST', { text: 'go', model: 'demo' });
    await new TurnDriver(api.store, await api.uidOf('s')).enter();
    expect((await prompt([image], { mode: 'steer' })).body).toMatchObject({
      status: 400,
      field: 'content.0',
    });
    const queued = await prompt([image]);
    expect(queued.status).toBe(202);
    const { itemId } = queued.body as { itemId: string };
    for (const patch of [{ mode: 'steer' }, { content: [image], mode: 'steer' }]) {
      const moved = await call(`${session}/queue/${itemId}`, 'PATCH', patch);
      expect(moved.body).toMatchObject({ status: 400, field: 'content.0' });
    }
    expect((await call(`${session}/queue/${itemId}`, 'PATCH', { content: [image] })).status).toBe(200);
  });

  it('is a job only in a session that is named, and one that is refused leaves no session', async () => {
    const image = { type: 'image', blob: await uploaded(PNG, 'image/png'), mediaType: 'image/png' };
    const refused = await call(`${api.url}/v1/turns`, 'POST', { prompt: [image] });
    expect(refused.body).toMatchObject({ status: 400, field: 'prompt.0' });
    expect((await call(`${api.url}/v1/sessions`, 'GET')).body).toMatchObject({ items: [{ id: 's' }] });
    const job = { prompt: [image], sessionId: 's' };
    expect((await call(`${api.url}/v1/turns`, 'POST', job)).status).toBe(202);
  });
});
