/** The flags by which a command finds its home or its server. */
import type { Command } from 'commander';

/** For commands that look into a home. */
export function withHome(command: Command): Command {
  return command
    .option('--config <file>', 'configuration file')
    .option('--home <folder>', 'where databases and workspaces are kept');
}

/** For commands that call a server. */
export function withServer(command: Command): Command {
  return withHome(command).option('--server <url>', 'server to use (TURNKEEPER_SERVER)');
}
