/** A home with a configuration that names a scripted model server, and a workspace beside it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';

export interface HomeFolder {
  readonly home: string;
  readonly workspace: string;
  remove(): void;
}

export function makeHome(modelUrl: string, configuration: Record<string, unknown> = {}): HomeFolder {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-e2e-')));
  const home = join(folder, 'home');
  const workspace = join(folder, 'workspace');
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(workspace);
  writeFileSync(
    join(home, 'turnkeeper.config.yaml'),
    stringify({
      providers: {
        scripted: {
          wire: 'chat-completions',
          baseUrl: modelUrl,
          models: { 'scripted-model': { contextWindow: 32_000 } },
        },
      },
      profiles: {
        default: { provider: 'scripted', model: 'scripted-model', permission: 'full-access' },
      },
      ...configuration,
    }),
  );
  return {
    home,
    workspace,
    remove: () => {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
