/** `follow`: shows a session live. */
import type { Client } from '../../client/client.js';
import type { CliIo } from '../cli-io.js';
import { explain } from '../cli-error.js';
import { EXIT } from '../exit-codes.js';
import { TranscriptPrinter } from '../transcript-printer.js';

export interface FollowCommandOptions {
  readonly after?: string;
  readonly untilTurnEnd?: boolean;
  readonly turn?: number;
  readonly json?: boolean;
}

/** Follows until the turn's end, where that was asked for, or until it is interrupted. Returns the exit code. */
export async function followSession(
  sessionId: string,
  options: FollowCommandOptions,
  io: CliIo,
  client: Client,
): Promise<number> {
  // Asked first, so that a mistyped name or address is an error at once and not an endless wait.
  await client.session(sessionId);
  const { after, turn } = options;
  const interrupt = new AbortController();
  const ignoreInterrupts = io.onInterrupt(() => {
    interrupt.abort();
  });
  const printer = new TranscriptPrinter({
    text: io.stdout,
    notes: io.stdout,
    // What is piped is read later, and a text that was withdrawn is of no use then.
    streams: io.stdout.isTerminal,
  });
  try {
    const items = client.follow(sessionId, {
      ...(after === undefined ? {} : { after }),
      ...(options.untilTurnEnd === true || turn !== undefined ? { until: 'turn-end' } : {}),
      ...(turn === undefined ? {} : { turn }),
      signal: interrupt.signal,
      onDisconnect: (error) => void io.stderr.write(`${explain(error)} Trying again.\n`),
    });
    for await (const item of items) {
      if (options.json !== true) await printer.print(item);
      else if (item.type === 'event') await io.stdout.write(`${JSON.stringify(item.event)}\n`);
    }
    return EXIT.completed;
  } catch (error) {
    if (interrupt.signal.aborted) return EXIT.interrupted;
    throw error;
  } finally {
    ignoreInterrupts();
  }
}
