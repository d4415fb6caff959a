/** `turnkeeper import`: a session from a file that `turnkeeper export --with-blobs` has written. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { Client } from '../../client/client.js';
import { printable, type CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';
import { fileError } from './file-error.js';

export interface ImportCommandOptions {
  readonly id?: string;
  readonly cwd?: string;
  readonly repair?: boolean;
}

/** Sends the file, or standard input for `-`, as it is read. Prints the new session's id; what was repaired on standard error. */
export async function importSession(
  file: string,
  { id, cwd, repair = false }: ImportCommandOptions,
  io: CliIo,
  client: Client,
): Promise<number> {
  const source = file === '-' ? io.stdin : await readable(resolve(io.cwd, file));
  const session = await client.importSession(streamOf(source), {
    repair,
    ...(id === undefined ? {} : { id }),
    ...(cwd === undefined ? {} : { workspace: resolve(io.cwd, cwd) }),
  });
  if (session.repaired !== undefined) {
    const { what, lost = 0 } = session.repaired;
    const missing = lost === 0 ? '' : ` Events that are missing: ${String(lost)}.`;
    await io.stderr.write(`${printable(what)}${missing}\n`);
  }
  await io.stdout.write(`${session.id}\n`);
  return EXIT.completed;
}

/** Opened before anything is sent, so that a file that cannot be read is told as such. */
async function readable(path: string): Promise<Readable> {
  try {
    const handle = await open(path, 'r');
    if (!(await handle.stat()).isDirectory()) return createReadStream(path, { fd: handle });
    await handle.close();
    throw Object.assign(new Error('is a folder'), { code: 'EISDIR', path });
  } catch (error) {
    throw fileError(error) ?? error;
  }
}

function streamOf(source: Readable): ReadableStream<Uint8Array> {
  const stream: NodeReadableStream = Readable.toWeb(source);
  return stream;
}
