import { describe, expect, it } from 'vitest';
import { turnSetup } from '../support/turn-setup.js';

const { startWithApi } = turnSetup();

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.from([0, 1, 2, 255])]);
const PDF = Buffer.from('%PDF-1.7\n');
const CSV = Buffer.from('name,größe\n');

/** The prompt's parts, as a wire spells them. */
const SPELLED = {
  'chat-completions': [
    { type: 'text', text: 'look' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG.toString('base64')}` } },
    {
      type: 'file',
      file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF.toString('base64')}` },
    },
    { type: 'text', text: `File a.csv:\n\n${CSV.toString()}` },
  ],
  messages: [
    { type: 'text', text: 'look' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG.toString('base64') } },
    {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: PDF.toString('base64') },
      title: 'a.pdf',
    },
    { type: 'text', text: `File a.csv:\n\n${CSV.toString()}` },
  ],
} as const;

describe.each(['chat-completions', 'messages'] as const)('what was uploaded, over %s', (wire) => {
  const play = async (abilities: { readonly images: boolean; readonly files: boolean }) => {
    const setup = await startWithApi([{ text: 'Seen.' }, { text: 'Still.' }], { wire, model: { abilities } });
    await setup.client.createSession({ id: 's' });
    const upload = async (bytes: Uint8Array, type: string) =>
      (await setup.client.uploadBlob('s', bytes, type)).sha256 as string;
    const content = [
      { type: 'text' as const, text: 'look' },
      { type: 'image' as const, blob: await upload(PNG, 'image/png'), mediaType: 'image/png' },
      {
        type: 'file' as const,
        blob: await upload(PDF, 'application/pdf'),
        name: 'a.pdf',
        mediaType: 'application/pdf',
      },
      { type: 'file' as const, blob: await upload(CSV, 'text/csv'), name: 'a.csv', mediaType: 'text/csv' },
    ];
    return { ...setup, content };
  };

  it('reaches a model that can be shown it, whole and in its place, at each request', async () => {
    const { client, model, content } = await play({ images: true, files: true });
    await client.prompt('s', { content });
    expect(await client.turn('s', 1, { waitSeconds: 30 })).toMatchObject({ output: 'Seen.' });
    await client.prompt('s', { text: 'And now?' });
    expect(await client.turn('s', 2, { waitSeconds: 30 })).toMatchObject({ output: 'Still.' });
    for (const request of model.requests) {
      for (const part of SPELLED[wire]) expect(request.raw).toContain(JSON.stringify(part));
    }
    expect(model.requests).toHaveLength(2);
    expect(model.refusals).toEqual([]);
  });

  it('is refused for a model that cannot, and the session goes on without it', async () => {
    const { client, model, content } = await play({ images: false, files: true });
    await expect(client.prompt('s', { content })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      field: 'content.1',
    });
    expect(await client.session('s')).toMatchObject({ status: 'idle', queue: [], headSeq: 0 });
    await client.prompt('s', { text: 'Then without.' });
    expect(await client.turn('s', 1, { waitSeconds: 30 })).toMatchObject({ output: 'Seen.' });
    expect(model.refusals).toEqual([]);
  });
});
