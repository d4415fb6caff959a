/** `turnkeeper export`: the log of a session as it stands, or the exact request of one of its steps. */
import type { Client } from '../../client/client.js';
import type { SessionEvent } from '../../contract/events.js';
import { NoSuchRequestError, rebuildRequest, type StepPlace } from '../../runtime/rebuild-request.js';
import { CommandError, UsageError } from '../cli-error.js';
import type { CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';

export interface ExportOptions {
  /** `TURN/STEP`. */
  readonly request?: string;
}

const PAGE_EVENTS = 1000;

/** Prints the log as NDJSON, or the request's bytes and nothing else. */
export async function exportSession(
  sessionId: string,
  { request }: ExportOptions,
  io: CliIo,
  client: Client,
): Promise<number> {
  if (request === undefined) {
    for await (const events of logOf(client, sessionId)) {
      await io.stdout.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    }
    return EXIT.completed;
  }
  const place = placeOf(request);
  const events: SessionEvent[] = [];
  for await (const page of logOf(client, sessionId)) {
    events.push(...page);
    if (page.some((event) => isAfter(event, place))) break;
  }
  try {
    const body = await rebuildRequest(events, place, (sha256) => client.blob(sessionId, sha256));
    await io.stdout.write(io.stdout.isTerminal ? `${body}\n` : body);
  } catch (error) {
    if (error instanceof NoSuchRequestError) throw new CommandError(error.message);
    throw error;
  }
  return EXIT.completed;
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
