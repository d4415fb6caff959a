/** `config`: the configuration as it is in force, with the source of each value. */
import { describeConfiguration } from '../../runtime/configuration/describe-configuration.js';
import { loadConfiguration } from '../../runtime/configuration/load-configuration.js';
import type { ConfigurationFlags } from '../../runtime/configuration/settings.js';
import type { CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';

/** Prints every value; secrets are masked. */
export async function showConfiguration(
  { json, ...flags }: ConfigurationFlags & { readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const values = describeConfiguration(loadConfiguration({ flags, env: io.env }));
  for (const value of values) {
    await io.stdout.write(
      json === true
        ? `${JSON.stringify(value)}\n`
        : `${value.path}: ${JSON.stringify(value.value)}  (${value.source})\n`,
    );
  }
  return EXIT.completed;
}
