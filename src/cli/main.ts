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
// Every write was waited for, so nothing is cut; what still keeps the process alive (an open socket) is of no use any more.
process.exit(code);
