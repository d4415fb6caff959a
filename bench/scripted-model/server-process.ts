/**
 * The scripted model: a streaming provider without latency, in a process of its own.
 *
 * It reads no request beyond its length, so that what is measured is Turnkeeper and not the provider; that requests are
 * well formed is checked by the tests. Started by `scripted-model.ts`, which speaks with it over IPC.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { nowMs } from '../clock.js';
import { callAnswer, ending, textAnswer, textChunk } from './answers.js';
import type { ModelCommand, ModelReply, Script } from './script.js';

let script: Script = { kind: 'silent' };
let played = 0;
let total = 0;
let requests: { arrivedAt: number; brokenAt: number | null }[] = [];

function tell(reply: ModelReply): void {
  process.send?.(reply);
}

const server = createServer((request, response) => {
  const record = { arrivedAt: nowMs(), brokenAt: null as number | null };
  requests.push(record);
  response.once('close', () => {
    if (!response.writableFinished) record.brokenAt = nowMs();
  });
  request.resume();
  request.once('end', () => {
    void answer(response);
  });
});

async function answer(response: ServerResponse): Promise<void> {
  const now = script;
  if (now.kind === 'silent') return;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  switch (now.kind) {
    case 'turn': {
      const isLast = played === now.steps;
      played = isLast ? 0 : played + 1;
      total += 1;
      const events = isLast ? textAnswer() : callAnswer(now.call, `call_${String(total)}`);
      for (const event of events) response.write(event);
      response.end();
      return;
    }
    case 'stamps':
      await stamps(response, now);
      for (const event of ending('stop')) response.write(event);
      response.end();
      return;
    case 'endless':
      while (!response.destroyed) {
        response.write(textChunk('word '));
        await wait(now.intervalMs);
      }
  }
}

/** Chunks at the instants that are due, however late the timer fires. */
async function stamps(
  response: ServerResponse,
  { count, intervalMs }: { readonly count: number; readonly intervalMs: number },
): Promise<void> {
  const start = nowMs();
  for (let sent = 0; sent < count && !response.destroyed; sent += 1) {
    const early = start + sent * intervalMs - nowMs();
    if (early > 0) await wait(early);
    response.write(textChunk(`${nowMs().toFixed(3)} `));
  }
}

process.on('message', (command: ModelCommand) => {
  if (command.kind === 'play') {
    script = command.script;
    played = 0;
    requests = [];
  }
  tell({ kind: 'done', id: command.id, requests });
});
// The benchmark has ended, however it did.
process.once('disconnect', () => process.exit());

server.listen(0, '127.0.0.1', () => {
  tell({ kind: 'listening', url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1` });
});
