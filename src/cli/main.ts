#!/usr/bin/env node
/** The program `turnkeeper`: gives a command its process, and ends that with the command's exit code. */
import { outputOf, type CliIo } from './cli-io.js';
import { runCli } from './program.js';

const io: CliIo = {
  stdin: process.stdin,
  stdout: outputOf(process.stdout),
  stderr: outputOf(process.stderr),
  env: process.env,
  cwd: process.cwd(),
  onInterrupt: (handler) => {
    process.on('SIGINT', handler).on('SIGTERM', handler);
    return () => {
      process.off('SIGINT', handler).off('SIGTERM', handler);
    };
  },
  forceExit: (code) => {
    process.exit(code);
  },
};

const code = await runCli(process.argv.slice(2), io);
// Writes end in their order, so after an empty one nothing is cut. What still keeps the process alive is of no use any more.
await io.stdout.write('');
await io.stderr.write('');
process.exit(code);
