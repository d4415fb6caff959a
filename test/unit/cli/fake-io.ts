/** A process for commands under test: what they write is kept, and the test interrupts them. */
import { PassThrough, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { CliIo } from '../../../src/cli/cli-io.js';

export interface FakeIo extends CliIo {
  readonly written: { out: string; err: string };
  readonly forced: number[];
  interrupt(): void;
  /** Types a line, where standard input is a terminal. */
  type(line: string): void;
  /** Ends standard input, where it is a terminal. */
  hangUp(): void;
  /** Resolves once the text has been written to either stream. */
  wrote(text: string): Promise<void>;
}

export function fakeIo(
  options: {
    readonly stdin?: string;
    readonly isTerminal?: { readonly in?: boolean; readonly out?: boolean; readonly err?: boolean };
    readonly env?: NodeJS.ProcessEnv;
    readonly cwd?: string;
  } = {},
): FakeIo {
  const written = { out: '', err: '' };
  const handlers = new Set<() => void>();
  const forced: number[] = [];
  const keyboard = new PassThrough();
  const piped = Readable.from(options.stdin === undefined ? [] : [Buffer.from(options.stdin)]);
  return {
    written,
    forced,
    stdin: options.isTerminal?.in === true ? Object.assign(keyboard, { isTTY: true }) : piped,
    stdout: {
      isTerminal: options.isTerminal?.out === true,
      write: async (text) => {
        written.out += text;
      },
    },
    stderr: {
      isTerminal: options.isTerminal?.err === true,
      write: async (text) => {
        written.err += text;
      },
    },
    env: options.env ?? {},
    cwd: options.cwd ?? '/',
    onInterrupt: (handler) => {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    forceExit: (code) => {
      forced.push(code);
    },
    interrupt: () => {
      for (const handler of handlers) handler();
    },
    type: (line) => {
      keyboard.write(`${line}\n`);
    },
    hangUp: () => {
      keyboard.end();
    },
    wrote: async (text) => {
      while (!written.out.includes(text) && !written.err.includes(text)) await setImmediate();
    },
  };
}
