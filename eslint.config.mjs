// The import table of the rooms (see AGENTS.md) and the language rules. One table, enforced for each folder.
import { builtinModules } from 'node:module';
import tseslint from 'typescript-eslint';

const NODE_MODULES = builtinModules.flatMap((name) => [name, `node:${name}`]);
const NOT_IN_THE_SANDBOX = [
  '@temporalio/activity',
  '@temporalio/client',
  '@temporalio/worker',
  '@temporalio/testing',
  'express',
  'eventsource-parser',
  'better-sqlite3',
  'kysely',
];

/** What each room may import: `values` freely, `types` with `import type` only; every other room is closed to it. */
const ROOMS = {
  contract: { values: [], types: [], node: false },
  core: { values: ['contract'], types: [], node: false },
  workflows: { values: ['contract', 'core'], types: ['activities'], node: false },
  model: { values: ['contract', 'core'], types: [], node: true },
  prompt: { values: ['contract', 'core'], types: [], node: true },
  tools: { values: ['contract', 'core'], types: [], node: true },
  store: { values: ['contract', 'core'], types: [], node: true },
  activities: { values: ['contract', 'core', 'model', 'prompt', 'tools', 'store'], types: [], node: true },
  api: { values: ['contract', 'core', 'store'], types: ['workflows'], node: true },
  client: { values: ['contract'], types: [], node: false },
  cli: { values: ['contract', 'client', 'runtime'], types: [], node: true },
  runtime: {
    values: ['contract', 'core', 'model', 'prompt', 'tools', 'store', 'activities', 'api'],
    types: ['workflows'],
    node: true,
  },
};

function roomConfig([room, { values, types, node }]) {
  const closed = Object.keys(ROOMS).filter((other) => other !== room && !values.includes(other));
  const sandboxed = room === 'workflows' || room === 'contract' || room === 'core';
  return {
    files: [`src/${room}/**/*.ts`],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          paths: [
            ...(node
              ? []
              : NODE_MODULES.map((name) => ({ name, message: `src/${room} stays free of Node modules.` }))),
            // zod in the workflow bundle costs a megabyte; parsing happens outside.
            ...(room === 'workflows'
              ? [{ name: 'zod', message: 'Parsing happens outside of workflows.' }]
              : []),
          ],
          patterns: [
            ...closed.map((other) => ({
              group: [`**/${other}/**`],
              allowTypeImports: types.includes(other),
              message: `src/${room} must not import src/${other}${types.includes(other) ? ' except as types' : ''}.`,
            })),
            ...(sandboxed
              ? [{ group: NOT_IN_THE_SANDBOX, message: 'Not available in the workflow sandbox.' }]
              : []),
          ],
        },
      ],
      ...(sandboxed
        ? {
            'no-restricted-globals': [
              'error',
              'process',
              'Buffer',
              'fetch',
              'console',
              'setInterval',
              'WeakRef',
              'FinalizationRegistry',
            ],
          }
        : {}),
    },
  };
}

export default tseslint.config(
  { ignores: ['dist/', 'coverage/', 'node_modules/'] },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-floating-promises': 'error',
      'max-params': ['error', 4],
    },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts', 'chaos/**/*.ts'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  ...Object.entries(ROOMS).map(roomConfig),
);
