/**
 * Many followers of one session, in a process of their own, so that their work is not the server's. Started by
 * `crowd.ts`, which speaks with it over IPC.
 *
 * Reads as cheaply as it can, bare sockets into one buffer, and no more than it needs: the instants that the scripted
 * model writes as its text, and the turn's end. Else the figures would be the crowd's own.
 */
import { connect, type Socket } from 'node:net';
import { nowMs } from '../clock.js';
import type { CrowdCommand, CrowdReply, CrowdReport } from './crowd-messages.js';

/** A chunk's text is the instant at which the model sent it. */
const STAMP = /"type":"text-delta","index":\d+,"text":"(\d+\.\d+) "/g;
const BUCKETS_A_MS = 10;
const LONGEST_MS = 120_000;

/** How many chunks took how long, in tenths of a millisecond: millions of delays would not fit elsewise. */
const delays = new Uint32Array(LONGEST_MS * BUCKETS_A_MS);
let faults = 0;
let ended = 0;

function tell(reply: CrowdReply): void {
  process.send?.(reply);
}

class CrowdFollower {
  #rest = '';
  #last = 0;
  #chunks = 0;

  constructor(private readonly chunks: number) {}

  read(text: string): void {
    const at = nowMs();
    const all = this.#rest + text;
    const end = all.lastIndexOf('\n\n') + 2;
    this.#rest = end === 1 ? all : all.slice(end);
    if (end === 1) return;
    const messages = all.slice(0, end);
    // Events are few: only where there are some does the order of messages matter.
    if (messages.includes('event: event')) {
      for (const message of messages.split('\n\n')) this.#take(message, at);
    } else {
      this.#take(messages, at);
    }
  }

  #take(messages: string, at: number): void {
    for (const [, stamp] of messages.matchAll(STAMP)) this.#note(at, Number(stamp));
    if (messages.includes('"type":"assistant/attempt"')) {
      // The attempt was lost and its text withdrawn: it is said again from the start.
      this.#chunks = 0;
    } else if (messages.includes('"type":"turn/end"')) {
      if (this.#chunks !== this.chunks) faults += 1;
      ended += 1;
    }
  }

  #note(at: number, sentAt: number): void {
    // The model sends them in order: one that is not later has come twice, or in a wrong place.
    if (sentAt <= this.#last) faults += 1;
    this.#last = sentAt;
    this.#chunks += 1;
    const bucket = Math.min(delays.length - 1, Math.max(0, Math.floor((at - sentAt) * BUCKETS_A_MS)));
    delays[bucket] = (delays[bucket] ?? 0) + 1;
  }
}

/** Asks for the stream and reads it as the callback says. */
function attach(url: string, onread?: { buffer: Buffer; callback: (length: number) => boolean }): Socket {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect({
    host: hostname,
    port: Number(port),
    ...(onread === undefined ? {} : { onread }),
  });
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`);
  return socket;
}

async function join({
  url,
  followers,
  stalled,
  chunks,
}: Extract<CrowdCommand, { kind: 'join' }>): Promise<void> {
  const buffer = Buffer.alloc(64 * 1024);
  const joined = Array.from({ length: followers }, () => {
    const follower = new CrowdFollower(chunks);
    return new Promise<void>((resolve) => {
      attach(url, {
        buffer,
        callback: (length) => {
          follower.read(buffer.toString('latin1', 0, length));
          resolve();
          return true;
        },
      });
    });
  });
  for (let n = 0; n < stalled; n += 1) {
    const socket = attach(url);
    joined.push(new Promise((resolve) => socket.once('connect', resolve)));
    // It takes what the kernel takes for it, and then nothing.
    socket.pause();
  }
  await Promise.all(joined);
  tell({ kind: 'joined' });
}

function report(): CrowdReport {
  let total = 0;
  for (const count of delays) total += count;
  const percentile = (share: number) => {
    let seen = 0;
    const bucket = delays.findIndex((count) => (seen += count) >= share * total);
    return (bucket + 1) / BUCKETS_A_MS;
  };
  return {
    ended,
    faults,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    worstMs: percentile(1),
  };
}

process.on('message', (command: CrowdCommand) => {
  switch (command.kind) {
    case 'join':
      void join(command);
      break;
    case 'report':
      tell({ kind: 'report', report: report() });
  }
});
// The benchmark has ended, however it did, or wants no more of the crowd.
process.once('disconnect', () => process.exit());
