/** What a command has of its process: streams, environment, signals. Tests bring their own. */
import type { Readable, Writable } from 'node:stream';

/** A stream that a command writes text to. */
export interface Output {
  /** Whether a person looks at it. */
  readonly isTerminal: boolean;
  /** Writes, and waits where the reader is slower. A reader that has gone (`| head`) is no error: the rest is dropped. */
  write(text: string): Promise<void>;
}

export interface CliIo {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: NodeJS.ProcessEnv;
  /** The working folder. */
  readonly cwd: string;
  /** Calls `handler` at each request to end (Ctrl-C, SIGTERM), until the returned function is called. */
  onInterrupt(handler: () => void): () => void;
  /** Ends the process now. */
  forceExit(code: number): void;
}

/** An output over a stream of the process. */
export function outputOf(stream: Writable & { readonly isTTY?: boolean }): Output {
  let isBroken = false;
  stream.on('error', () => {
    // EPIPE and its kin: nobody reads any more, and the turn goes on without an audience.
    isBroken = true;
  });
  return {
    isTerminal: stream.isTTY === true,
    write: async (text) => {
      if (isBroken) return;
      await new Promise<void>((resolve) => {
        // Called when it is flushed or has failed; the failure itself came to the listener above.
        stream.write(text, () => {
          resolve();
        });
      });
    },
  };
}

/** The text without what would steer a terminal: model and tool output is data, also where it holds escape codes. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}
