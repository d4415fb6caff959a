/** `queue`: the prompts of a session that wait, and changes of them. */
import type { Client } from '../../client/client.js';
import type { QueueItem } from '../../contract/http.js';
import { inOneLine } from '../ask-text.js';
import type { CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';
import { tableText } from '../table.js';
import { taskText } from './task-text.js';

const TEXT_CHARACTERS = 60;

/** An item of a session's queue. */
export interface QueuedPlace {
  readonly session: string;
  readonly item: string;
}

/** Lists what waits, in the order in which turns take it. */
export async function listQueue(
  session: string,
  { json }: { readonly json?: boolean },
  io: CliIo,
  client: Client,
): Promise<number> {
  const { queue } = await client.session(session);
  if (json === true) {
    for (const item of queue) await io.stdout.write(`${JSON.stringify(item)}\n`);
  } else if (queue.length === 0) {
    await io.stderr.write('Nothing waits.\n');
  } else {
    await io.stdout.write(tableText([['ITEM', 'AS', 'CAME', 'TEXT'], ...queue.map(row)]));
  }
  return EXIT.completed;
}

function row({ itemId, target, at, content }: QueueItem): string[] {
  const text = content.map((block) => {
    switch (block.type) {
      case 'text':
        return block.text;
      case 'blob':
        return block.head;
      case 'image':
        return `[${block.mediaType}]`;
      case 'file':
        return `[${block.name}]`;
    }
  });
  return [itemId, target === 'next-step' ? 'steer' : 'queue', at, inOneLine(text.join(' '), TEXT_CHARACTERS)];
}

/** Puts another text in the place of a prompt's. */
export async function editQueued(
  { session, item }: QueuedPlace,
  argument: string | undefined,
  io: CliIo,
  client: Client,
): Promise<number> {
  await client.changeQueued(session, item, { text: await taskText(argument, io) });
  await io.stdout.write(`edited ${item}\n`);
  return EXIT.completed;
}

/** Makes a prompt a steer or a queued one. */
export async function moveQueued(
  { session, item }: QueuedPlace,
  mode: 'steer' | 'queue',
  io: CliIo,
  client: Client,
): Promise<number> {
  const { position } = await client.changeQueued(session, item, { mode });
  await io.stdout.write(`${mode} at position ${String(position)}\n`);
  return EXIT.completed;
}

/** Takes a prompt out of the queue. */
export async function removeQueued(
  { session, item }: QueuedPlace,
  io: CliIo,
  client: Client,
): Promise<number> {
  await client.removeQueued(session, item);
  await io.stdout.write(`removed ${item}\n`);
  return EXIT.completed;
}
