/** `keys`: API keys, made and revoked on the home's store itself, since over HTTP nobody may. */
import type { ApiKey } from '../../contract/keys.js';
import type { ConfigurationFlags } from '../../runtime/configuration/settings.js';
import { createKey, KeyRequestError, listKeys, revokeKey } from '../../runtime/keys.js';
import { CommandError, UsageError } from '../cli-error.js';
import type { CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';
import { tableText } from '../table.js';

export interface CreateKeyOptions extends ConfigurationFlags {
  readonly name: string;
  readonly tenant: string;
  /** Separated by commas. */
  readonly rights: string;
  readonly permission?: string;
  readonly workspaceRoot?: readonly string[];
  readonly requestsPerMinute?: number;
  readonly promptsPerDay?: number;
}

/** Prints the key, this once, on standard output, and what it may do on standard error. */
export async function createApiKey(options: CreateKeyOptions, io: CliIo): Promise<number> {
  const { name, tenant, rights, permission, workspaceRoot, requestsPerMinute, promptsPerDay, ...flags } =
    options;
  try {
    const { key, text } = await createKey(
      { flags, env: io.env },
      {
        name,
        tenant,
        rights: [...new Set(rights.split(',').map((right) => right.trim()))],
        permission,
        workspaceRoots: workspaceRoot,
        requestsPerMinute,
        promptsPerDay,
        workingFolder: io.cwd,
      },
    );
    await io.stdout.write(`${text}\n`);
    await io.stderr.write(`${described(key)} It is shown this once; keep it.\n`);
    return EXIT.completed;
  } catch (error) {
    throw error instanceof KeyRequestError ? new UsageError(error.message) : error;
  }
}

function described({ id, name, tenant, rights, permission, workspaceRoots }: ApiKey): string {
  const folders = workspaceRoots.length === 0 ? 'fresh ones only' : workspaceRoots.join(', ');
  return (
    `Key ${id} (${name}) of tenant ${tenant}: ${rights.join(', ')}; ` +
    `at most ${permission}; workspaces: ${folders}.`
  );
}

/** Lists the keys, oldest first. No secret is in it. */
export async function listApiKeys(
  { json, ...flags }: ConfigurationFlags & { readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const keys = await listKeys({ flags, env: io.env });
  if (json === true) {
    for (const key of keys) await io.stdout.write(`${JSON.stringify(key)}\n`);
  } else if (keys.length === 0) {
    await io.stderr.write(
      'There are no keys; until there is one, everybody who reaches the server may use it.\n',
    );
  } else {
    await io.stdout.write(
      tableText([
        ['ID', 'NAME', 'TENANT', 'RIGHTS', 'PERMISSION', 'LAST USED', 'STATE'],
        ...keys.map((key) => [
          key.id,
          key.name,
          key.tenant,
          key.rights.join(','),
          key.permission,
          key.lastUsedAt ?? 'never',
          key.revokedAt === null ? 'active' : `revoked ${key.revokedAt}`,
        ]),
      ]),
    );
  }
  return EXIT.completed;
}

/** Ends a key for good. Requests with it are refused from now on, and streams with it are cut. */
export async function revokeApiKey(id: string, flags: ConfigurationFlags, io: CliIo): Promise<number> {
  const key = await revokeKey({ flags, env: io.env }, id);
  if (key === undefined) {
    throw new CommandError(`There is no key "${id}". "turnkeeper keys list" shows their ids.`);
  }
  await io.stdout.write(`revoked ${key.id} (${key.name})\n`);
  return EXIT.completed;
}
