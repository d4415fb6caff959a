/** The text of a task or prompt: from the arguments, or from standard input. */
import { UsageError } from '../cli-error.js';
import type { CliIo } from '../cli-io.js';

/** `-`, or nothing where standard input is no terminal, reads standard input to its end. @throws UsageError. */
export async function taskText(argument: string | undefined, io: Pick<CliIo, 'stdin'>): Promise<string> {
  const text = argument === undefined || argument === '-' ? await readAll(argument, io) : argument;
  if (text.trim() === '') throw new UsageError('The task is blank.');
  return text;
}

async function readAll(argument: string | undefined, { stdin }: Pick<CliIo, 'stdin'>): Promise<string> {
  if (argument === undefined && stdin.isTTY === true) {
    throw new UsageError('Give a task, or "-" to read it from standard input.');
  }
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) {
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Buffer));
  }
  return Buffer.concat(chunks).toString('utf8');
}
