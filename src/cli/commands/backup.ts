/** `turnkeeper backup`: copies a home into a folder from which a server can start. */
import { resolve } from 'node:path';
import { backupHome, BackupError } from '../../runtime/backup/backup-home.js';
import { loadConfiguration } from '../../runtime/configuration/load-configuration.js';
import type { ConfigurationFlags } from '../../runtime/configuration/settings.js';
import { storeLocation } from '../../runtime/configuration/store-location.js';
import { CommandError } from '../cli-error.js';
import type { CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';

/** Copies while a server works or while none does. Prints what was copied. */
export async function backup(folder: string, flags: ConfigurationFlags, io: CliIo): Promise<number> {
  const { configuration } = loadConfiguration({ flags, env: io.env });
  const source = { home: configuration.home, storeFile: storeLocation(configuration).file };
  const begun = performance.now();
  try {
    const copy = await backupHome(source, resolve(io.cwd, folder));
    for (const { name, bytes } of copy.databases) {
      await io.stderr.write(`${name}: ${String(Math.ceil(bytes / 1024))} KiB\n`);
    }
    for (const name of copy.leftOut) {
      await io.stderr.write(`${name} is damaged and not in the copy; a server starts without it.\n`);
    }
    if (copy.movedStore !== undefined) {
      await io.stderr.write(
        `The log lies elsewhere than in the home; for the copy set TURNKEEPER_STORE_URL=sqlite:${copy.movedStore}, ` +
          'or a server on the copy opens the original.\n',
      );
    }
    await io.stderr.write(`Copied in ${((performance.now() - begun) / 1000).toFixed(1)} s.\n`);
    await io.stdout.write(`${copy.folder}\n`);
    return EXIT.completed;
  } catch (error) {
    if (error instanceof BackupError) throw new CommandError(error.message);
    throw error;
  }
}
