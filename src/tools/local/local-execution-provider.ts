/** The execution provider that acts on this host itself, without a sandbox. */
import type { ExecutionProvider } from '../execution-provider.js';
import { runLocalCommand } from './local-command.js';
import { readLocalFile, writeLocalFile } from './local-files.js';
import { listLocalFiles, searchLocalText } from './local-search.js';

export function createLocalExecutionProvider(): ExecutionProvider {
  return {
    kind: 'local',
    readFile: readLocalFile,
    writeFile: writeLocalFile,
    listFiles: listLocalFiles,
    searchText: searchLocalText,
    runCommand: runLocalCommand,
  };
}
