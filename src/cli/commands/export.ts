/** `turnkeeper export`: the log of a session as it stands, the whole session as a file, or the exact request of a step. */
import { open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ConnectionError } from '../../client/api-error.js';
import type { Client } from '../../client/client.js';
import type { SessionEvent } from '../../contract/events.js';
import { NoSuchRequestError, rebuildRequest, type StepPlace } from '../../runtime/rebuild-request.js';
import { CommandError, UsageError } from '../cli-error.js';
import type { CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';
import { fileError } from './file-error.js';

export interface ExportOptions {
  /** `TURN/STEP`. */
  readonly request?: string;
  /** The whole session, as `turnkeeper import` takes it. */
  readonly withBlobs?: boolean;
  /** A file in the place of standard output. */
  readonly output?: string;
}

const PAGE_EVENTS = 1000;

type Write = (text: string) => Promise<unknown>;

/** Writes the log as NDJSON, the session's file, or the request's bytes and nothing else. */
export async function exportSession(
  sessionId: string,
  { request, withBlobs = false, output }: ExportOptions,
  io: CliIo,
  client: Client,
): Promise<number> {
  if (request !== undefined && withBlobs) throw new UsageError('Give either --request or --with-blobs.');
  const writeAll = async (write: Write): Promise<void> => {
    if (request !== undefined) await writeRequest({ sessionId, place: placeOf(request) }, client, write);
    else if (withBlobs) await writeFile(sessionId, client, write);
    else await writeLog(sessionId, client, write);
  };
  if (output === undefined) {
    await writeAll((text) => io.stdout.write(text));
    if (request !== undefined && io.stdout.isTerminal) await io.stdout.write('\n');
  } else {
    await toFile(resolve(io.cwd, output), writeAll);
  }
  return EXIT.completed;
}

async function writeLog(sessionId: string, client: Client, write: Write): Promise<void> {
  for await (const events of logOf(client, sessionId)) {
    await write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  }
}

async function writeFile(sessionId: string, client: Client, write: Write): Promise<void> {
  const decoder = new TextDecoder();
  for await (const bytes of received(await client.exportSession(sessionId))) {
    await write(decoder.decode(bytes, { stream: true }));
  }
}

/** The bytes of a stream that may break off. @throws ConnectionError. */
async function* received(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* stream;
  } catch (cause) {
    throw new ConnectionError('The connection broke before the export was whole.', { cause });
  }
}

/** Under another name until it is whole, so that what stands under the file's own is never half an export. */
async function toFile(path: string, writeAll: (write: Write) => Promise<void>): Promise<void> {
  const partial = `${path}.partial`;
  try {
    const file = await open(partial, 'w', 0o600);
    try {
      await writeAll((text) => file.writeFile(text));
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw fileError(error) ?? error;
  }
}

async function writeRequest(
  { sessionId, place }: { readonly sessionId: string; readonly place: StepPlace },
  client: Client,
  write: Write,
): Promise<void> {
  const events: SessionEvent[] = [];
  for await (const page of logOf(client, sessionId)) {
    events.push(...page);
    if (page.some((event) => isAfter(event, place))) break;
  }
  try {
    const body = await rebuildRequest(events, place, (sha256) => client.blob(sessionId, sha256));
    await write(body);
  } catch (error) {
    if (error instanceof NoSuchRequestError) throw new CommandError(error.message);
    throw error;
  }
}

async function* logOf(client: Client, sessionId: string): AsyncGenerator<readonly SessionEvent[]> {
  for (let after: number | null = -1; after !== null;) {
    const page = await client.events(sessionId, { after, limit: PAGE_EVENTS });
    yield page.items;
    after = page.nextCursor;
  }
}

/** @throws UsageError. */
function placeOf(text: string): StepPlace {
  const [, turn, step] = /^([1-9]\d{0,8})\/([1-9]\d{0,8})$/.exec(text) ?? [];
  if (turn === undefined || step === undefined) {
    throw new UsageError(`"${text}" is no step; it looks like 2/1, the first step of the second turn.`);
  }
  return { turn: Number(turn), step: Number(step) };
}

function isAfter(event: SessionEvent, { turn, step }: StepPlace): boolean {
  const at = event.turn ?? 0;
  return at > turn || (at === turn && (event.step ?? 0) > step);
}
