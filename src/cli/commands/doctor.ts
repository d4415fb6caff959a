/** `doctor`: whether all that Turnkeeper needs is there and works. */
import type { ConfigurationFlags } from '../../runtime/configuration/settings.js';
import { runDoctor } from '../../runtime/doctor/run-doctor.js';
import { printable, type CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';

/** Prints each finding as it is made. The exit code is 1 where one is a problem. */
export async function examine(
  { json, ...flags }: ConfigurationFlags & { readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  let hasProblem = false;
  for await (const finding of runDoctor(flags, io.env)) {
    hasProblem ||= finding.status === 'problem';
    const { status, check, message } = finding;
    await io.stdout.write(
      json === true
        ? `${JSON.stringify(finding)}\n`
        : `${status.padEnd(7)}  ${check}: ${printable(message).replaceAll('\n', '\n         ')}\n`,
    );
  }
  return hasProblem ? EXIT.error : EXIT.completed;
}
