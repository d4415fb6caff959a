/** The execution provider that acts on this host itself, without a sandbox. */
import type { ExecutionProvider } from '../execution-provider.js';
import { ToolError } from '../tool.js';
import { runLocalCommand } from './local-command.js';
import { readLocalFile, writeLocalFile } from './local-files.js';
import { listLocalFiles, searchLocalText } from './local-search.js';

/** Refuses a command that is to be confined, with `SANDBOX_UNAVAILABLE`. */
export function createLocalExecutionProvider(): ExecutionProvider {
  return {
    kind: 'local',
    readFile: readLocalFile,
    writeFile: writeLocalFile,
    listFiles: listLocalFiles,
    searchText: searchLocalText,
    runCommand: async (request) => {
      if (request.sandbox === null) return runLocalCommand(request);
      throw new ToolError(
        'SANDBOX_UNAVAILABLE',
        'The command was not run: it may run in a sandbox only, and none works here. "turnkeeper doctor" says why.',
      );
    },
  };
}
