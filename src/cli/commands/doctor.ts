/** `doctor`: whether all that Turnkeeper needs is there and works, why open turns wait, and what can be mended. */
import type { ConfigurationFlags } from '../../runtime/configuration/settings.js';
import { runDoctor, type NamedFinding } from '../../runtime/doctor/run-doctor.js';
import { printable, type CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';

export interface DoctorOptions {
  readonly json?: boolean;
  /** Mends the session log before it looks. */
  readonly repair?: boolean;
  /** Only the open turn of this session. */
  readonly session?: string;
}

/** Prints each finding as it is made. The exit code is 1 where one is a problem. */
export async function examine(
  { json, repair, session, ...flags }: ConfigurationFlags & DoctorOptions,
  io: CliIo,
): Promise<number> {
  let hasProblem = false;
  for await (const finding of runDoctor(flags, io.env, { repairs: repair === true, session })) {
    hasProblem ||= finding.status === 'problem';
    await io.stdout.write(json === true ? `${JSON.stringify(finding)}\n` : lineOf(finding));
  }
  return hasProblem ? EXIT.error : EXIT.completed;
}

function lineOf({ status, check, message }: NamedFinding): string {
  return `${status.padEnd(7)}  ${check}: ${printable(message).replaceAll('\n', '\n         ')}\n`;
}
