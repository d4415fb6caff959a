/** The commands of who looks after an installation: what is configured, whether it is well, and copies of it. */
import type { Command } from 'commander';
import type { ConfigurationFlags } from '../runtime/configuration/settings.js';
import type { CliIo } from './cli-io.js';
import { backup } from './commands/backup.js';
import { showConfiguration } from './commands/config.js';
import { examine, type DoctorOptions } from './commands/doctor.js';
import { withHome } from './place-options.js';

export function addMaintenance(program: Command, io: CliIo, finish: (code: number) => void): void {
  withHome(program.command('config'))
    .description('print the configuration with the source of each value')
    .option('--json', 'print it as NDJSON')
    .action(async (options: ConfigurationFlags & { readonly json?: boolean }) => {
      finish(await showConfiguration(options, io));
    });

  withHome(program.command('doctor'))
    .description('check that all is there and works, and say why open turns wait')
    .option('--session <id>', 'only the open turn of this session')
    .option('--repair', 'mend the session log, with no server on it; what is cut off is kept in a file')
    .option('--json', 'print the findings as NDJSON')
    .action(async (options: ConfigurationFlags & DoctorOptions) => {
      finish(await examine(options, io));
    });

  withHome(program.command('backup'))
    .argument('<folder>', 'a folder that is not there yet, or is empty')
    .description('copy the home, also while a server works on it')
    .action(async (folder: string, flags: ConfigurationFlags) => {
      finish(await backup(folder, flags, io));
    });
}
