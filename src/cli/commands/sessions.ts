/** The short commands over the API: `sessions`, `prompt`, `cancel`. */
import type { Client } from '../../client/client.js';
import type { PromptMode } from '../../contract/events.js';
import type { SessionResource, SessionStatus, WhenRunning } from '../../contract/http.js';
import { printable, type CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';
import { tableText } from '../table.js';
import { taskText } from './task-text.js';

export interface SessionsOptions {
  readonly status?: SessionStatus;
  readonly limit?: number;
  readonly json?: boolean;
}

/** Lists sessions, newest first. */
export async function listSessions(options: SessionsOptions, io: CliIo, client: Client): Promise<number> {
  const { status, limit = 20 } = options;
  const { items } = await client.listSessions({ limit, ...(status === undefined ? {} : { status }) });
  if (options.json === true) {
    for (const session of items) await io.stdout.write(`${JSON.stringify(session)}\n`);
    return EXIT.completed;
  }
  if (items.length === 0) await io.stderr.write('There are no sessions.\n');
  else await io.stdout.write(tableText([HEADINGS, ...items.map(row)]));
  return EXIT.completed;
}

const HEADINGS = ['SESSION', 'STATUS', 'UPDATED', 'TITLE'];

function row({ id, status, updatedAt, title }: SessionResource): string[] {
  return [id, status, updatedAt, printable(title)];
}

export interface PromptOptions {
  readonly mode?: PromptMode;
  readonly whenRunning?: WhenRunning;
  readonly requestId?: string;
}

/** Sends a prompt and says where it is, without waiting for its answer. */
export async function sendPrompt(
  { sessionId, argument }: { readonly sessionId: string; readonly argument: string | undefined },
  { mode, whenRunning, requestId }: PromptOptions,
  io: CliIo,
  client: Client,
): Promise<number> {
  const answer = await client.prompt(sessionId, {
    text: await taskText(argument, io),
    ...(mode === undefined ? {} : { mode }),
    ...(whenRunning === undefined ? {} : { whenRunning }),
    ...(requestId === undefined ? {} : { requestId }),
  });
  const place =
    answer.turn === null
      ? answer.position === null
        ? 'taken'
        : `waiting at position ${String(answer.position)}`
      : `turn ${String(answer.turn)}`;
  await io.stdout.write(`${place}\n`);
  return EXIT.completed;
}

/** Cancels the open turn of a session, or the turn that is named. */
export async function cancelSession(
  sessionId: string,
  { turn }: { readonly turn?: number },
  io: CliIo,
  client: Client,
): Promise<number> {
  const answer =
    turn === undefined ? await client.cancel(sessionId) : await client.cancelTurn(sessionId, turn);
  await io.stdout.write(
    answer.cancelled ? `cancelling turn ${String(answer.turn)}\n` : 'there is nothing to cancel\n',
  );
  return EXIT.completed;
}
