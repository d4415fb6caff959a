import { readdirSync, readlinkSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { sha256Schema } from '../../../../src/contract/ids.js';
import { KEPT_BYTES, StreamCapture } from '../../../../src/tools/local/stream-capture.js';

const captures: StreamCapture[] = [];
afterEach(async () => {
  for (const capture of captures.splice(0)) await capture.dispose();
});

/** A capture that was given twice as much as is kept. */
async function flooded(options: ConstructorParameters<typeof StreamCapture>[1]) {
  const capture = new StreamCapture(() => undefined, options);
  captures.push(capture);
  await capture.add(Buffer.alloc(KEPT_BYTES, 'a'));
  await capture.add(Buffer.alloc(KEPT_BYTES, 'b'));
  return capture;
}

/** The spool files that this process has open; they have no name any more. */
function openSpools(): string[] {
  return readdirSync('/proc/self/fd')
    .map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return ''; // The descriptor of the listing itself.
      }
    })
    .filter((path) => path.includes('turnkeeper-spool-'));
}

const DIGEST = sha256Schema.parse('0'.repeat(64));

it('keeps the whole of a large stream where it is to go to a blob', async () => {
  const saved: Uint8Array[] = [];
  const capture = await flooded({
    saveBlob: async (bytes) => {
      saved.push(bytes);
      return DIGEST;
    },
  });
  expect(openSpools()).toHaveLength(1);
  expect((await capture.finish()).blob).toEqual({ sha256: DIGEST, bytes: 2 * KEPT_BYTES });
  expect(saved.map(({ length }) => length)).toEqual([2 * KEPT_BYTES]);
});

it('keeps head and tail alone where nothing is to go to a blob', async () => {
  const capture = await flooded({});
  expect(openSpools()).toEqual([]);
  expect(await capture.finish()).toEqual({
    bytes: 2 * KEPT_BYTES,
    head: 'a'.repeat(KEPT_BYTES / 2),
    tail: 'b'.repeat(KEPT_BYTES / 2),
    omittedBytes: KEPT_BYTES,
  });
});

it('says what a stream is that is no text, with or without a blob', async () => {
  const capture = new StreamCapture(() => undefined, {});
  captures.push(capture);
  await capture.add(Uint8Array.of(0, 1, 2));
  expect(await capture.finish()).toEqual({
    bytes: 3,
    binary: 'application/octet-stream',
    head: '',
    tail: '',
    omittedBytes: 3,
  });
});
