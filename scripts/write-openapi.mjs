// Writes the description of the API as it is checked in. Needs tsx, since it reads the source and not the build.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { describeApi } from '../src/api/openapi.ts';

const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
const filepath = fileURLToPath(new URL('../docs/openapi.json', import.meta.url));
const style = { ...(await resolveConfig(filepath)), filepath };
await writeFile(filepath, await format(JSON.stringify(describeApi(version)), style));
