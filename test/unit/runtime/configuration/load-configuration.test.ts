import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../../../src/runtime/configuration/configuration-error.js';
import {
  isLoopbackHost,
  loadConfiguration,
  type ConfigurationSources,
} from '../../../../src/runtime/configuration/load-configuration.js';

let userHome: string;
let home: string;
let file: string;

beforeEach(() => {
  userHome = mkdtempSync(join(tmpdir(), 'turnkeeper-configuration-'));
  home = join(userHome, '.turnkeeper');
  file = join(home, 'turnkeeper.config.yaml');
  mkdirSync(home);
});
afterEach(() => {
  rmSync(userHome, { recursive: true, force: true });
});

function load(sources: ConfigurationSources = {}) {
  return loadConfiguration({ env: {}, userHome, workingFolder: userHome, ...sources });
}

function loadError(sources: ConfigurationSources = {}): ConfigurationError {
  try {
    load(sources);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

describe('loadConfiguration', () => {
  it('gives the defaults without file, environment and flags', () => {
    const { configuration, origins, ...rest } = load();
    expect(configuration.server).toMatchObject({ host: '127.0.0.1', port: 8787 });
    expect(configuration.home).toBe(home);
    expect(new Set(Object.values(origins))).toEqual(new Set(['default']));
    expect(rest).toEqual({});
  });

  it('lets the environment win over the file, and a flag over both', () => {
    writeFileSync(
      file,
      'server: { host: "::1", port: 1001 }\nengine: { address: "file:1", namespace: mine }\n',
    );
    const loaded = load({
      env: { TURNKEEPER_PORT: '1002', TEMPORAL_ADDRESS: 'environment:1' },
      flags: { port: 1003 },
    });
    expect(loaded.configuration.server).toMatchObject({ host: '::1', port: 1003 });
    expect(loaded.configuration.engine).toMatchObject({ address: 'environment:1', namespace: 'mine' });
    expect(loaded.file).toBe(file);
    expect(loaded.origins).toMatchObject({
      'server.host': 'file',
      'server.port': 'flag',
      'server.bodyLimitBytes': 'default',
      'engine.address': 'environment',
      'engine.namespace': 'file',
      'store.url': 'default',
    });
  });

  it('reads every variable', () => {
    const elsewhere = join(userHome, 'elsewhere');
    const { configuration } = load({
      env: {
        TURNKEEPER_HOME: '~/elsewhere',
        TURNKEEPER_HOST: 'localhost',
        TURNKEEPER_PORT: '0',
        TURNKEEPER_STORE_URL: 'sqlite:other.db',
        TEMPORAL_ADDRESS: 'temporal.internal:7233',
        TEMPORAL_NAMESPACE: 'agents',
      },
    });
    expect(configuration).toMatchObject({
      home: elsewhere,
      server: { host: 'localhost', port: 0 },
      store: { url: 'sqlite:other.db' },
      engine: { address: 'temporal.internal:7233', namespace: 'agents' },
    });
  });

  it('takes an empty variable for an absent one', () => {
    expect(load({ env: { TURNKEEPER_PORT: '', TURNKEEPER_HOME: ' ', TEMPORAL_ADDRESS: '' } })).toEqual(
      load(),
    );
  });

  it('takes the file of --config before TURNKEEPER_CONFIG before the one in the home', () => {
    const write = (name: string, port: number) => {
      writeFileSync(join(userHome, name), `server: { port: ${String(port)} }`);
    };
    write('.turnkeeper/turnkeeper.config.yaml', 1);
    write('environment.yaml', 2);
    write('flag.yaml', 3);
    const env = { TURNKEEPER_CONFIG: join(userHome, 'environment.yaml') };
    expect(load().configuration.server.port).toBe(1);
    expect(load({ env }).configuration.server.port).toBe(2);
    expect(load({ env, flags: { config: 'flag.yaml' } }).configuration.server.port).toBe(3);
  });

  it('does not read a file that merely lies in the working folder', () => {
    const clone = join(userHome, 'clone');
    mkdirSync(clone);
    writeFileSync(join(clone, 'turnkeeper.config.yaml'), 'server: { port: 666 }');
    expect(load({ workingFolder: clone }).configuration.server.port).toBe(8787);
  });

  it('reads the file of the home that a variable or flag names', () => {
    writeFileSync(join(userHome, 'turnkeeper.config.yaml'), 'server: { port: 77 }');
    expect(load({ env: { TURNKEEPER_HOME: userHome } }).configuration.server.port).toBe(77);
    expect(load({ flags: { home: '.' } }).configuration.server.port).toBe(77);
  });

  it('makes folders of the file absolute, from the folder of the file', () => {
    const other = join(userHome, 'other.yaml');
    writeFileSync(other, 'home: data\nserver: { workspaceRoots: ["~/work", ./here, /srv] }');
    const { configuration } = load({ flags: { config: other } });
    expect(configuration.home).toBe(join(userHome, 'data'));
    expect(configuration.server.workspaceRoots).toEqual([
      join(userHome, 'work'),
      join(userHome, 'here'),
      '/srv',
    ]);
  });

  it('makes the paths of extensions absolute, from the folder of the file that names them', () => {
    const other = join(userHome, 'elsewhere', 'other.yaml');
    mkdirSync(dirname(other));
    writeFileSync(other, 'extensions: [./tickets.mjs, "~/shared.mjs", /srv/rules.mjs]');
    expect(load({ flags: { config: other } }).configuration.extensions).toEqual([
      join(userHome, 'elsewhere', 'tickets.mjs'),
      join(userHome, 'shared.mjs'),
      '/srv/rules.mjs',
    ]);
  });

  it('takes extensions from the file alone', () => {
    const env = { TURNKEEPER_EXTENSIONS: '/tmp/other.mjs', EXTENSIONS: '/tmp/other.mjs' };
    expect(load({ env }).configuration.extensions).toEqual([]);
    const clone = join(userHome, 'clone');
    mkdirSync(clone);
    writeFileSync(join(clone, 'turnkeeper.config.yaml'), 'extensions: [./evil.mjs]');
    expect(load({ workingFolder: clone }).configuration.extensions).toEqual([]);
  });

  it('accepts an empty file and sections whose keys are all commented out', () => {
    writeFileSync(file, '');
    expect(load().configuration).toEqual(load({ env: { TURNKEEPER_HOME: home } }).configuration);
    writeFileSync(file, 'server:\n  # port: 1\nproviders:\n');
    expect(load().configuration.server.port).toBe(8787);
  });
});

describe('a wrong configuration', () => {
  it('names file, line and the nearest key of an unknown one, at any depth', () => {
    writeFileSync(
      file,
      [
        'serverr: {}',
        'server:',
        '  prot: 80',
        'providers:',
        '  local:',
        '    wire: messages',
        '    models:',
        '      small: { contextWidow: 3 }',
        'profiles:',
        '  default: { rules: [{ tol: bash, tool: bash, decision: ask }], zzzzz: 1 }',
      ].join('\n'),
    );
    const error = loadError();
    expect(error.code).toBe('CONFIGURATION_INVALID');
    const byPath = Object.fromEntries(error.problems.map((problem) => [problem.path, problem]));
    expect(byPath.serverr).toEqual({
      source: `${file}:1`,
      path: 'serverr',
      message: 'is not a known key; did you mean "server"?',
    });
    expect(byPath['server.prot']).toMatchObject({
      source: `${file}:3`,
      message: expect.stringContaining('"port"') as string,
    });
    expect(byPath['providers.local.models.small.contextWidow']?.message).toContain('"contextWindow"');
    expect(byPath['profiles.default.rules[0].tol']?.message).toContain('"tool"');
    expect(byPath['profiles.default.zzzzz']?.message).toContain('known here: extends, provider');
    expect(error.message).toContain(`- ${file}:3: server.prot is not a known key`);
  });

  it('names variable and flag', () => {
    expect(loadError({ env: { TURNKEEPER_PORT: 'eighty' } }).message).toMatch(
      /variable TURNKEEPER_PORT: server\.port is not valid: .*number.*Correct it/,
    );
    expect(loadError({ env: { TURNKEEPER_PORT: '1' }, flags: { port: '70000' } }).message).toMatch(
      /flag --port: server\.port is not valid: .*65535/,
    );
    expect(loadError({ flags: { temporalAddress: 'http://temporal' } }).message).toMatch(
      /flag --temporal-address: engine\.address must be host:port/,
    );
  });

  it('names the line of a key that is missing', () => {
    writeFileSync(file, 'providers:\n  local:\n    baseUrl: "http://localhost:1"\n');
    const [problem] = loadError().problems;
    expect(problem).toMatchObject({ source: `${file}:3`, path: 'providers.local.wire' });
  });

  it('gives the line of a syntax error', () => {
    writeFileSync(file, 'server:\n  port: 1\n bad\n: [');
    const error = loadError();
    expect(error.code).toBe('CONFIGURATION_SYNTAX');
    expect(error.message).toMatch(/turnkeeper\.config\.yaml:\d+: this is not valid YAML/);
  });

  it('refuses a key that stands twice, and a file that is a list', () => {
    writeFileSync(file, 'server: { port: 1 }\nserver: { port: 2 }');
    expect(loadError().problems[0]?.source).toBe(`${file}:2`);
    writeFileSync(file, '- server');
    expect(loadError().code).toBe('CONFIGURATION_SYNTAX');
  });

  it('says which setting names a file that is not there', () => {
    const missing = join(userHome, 'missing.yaml');
    const error = loadError({ env: { TURNKEEPER_CONFIG: missing } });
    expect(error.code).toBe('CONFIGURATION_FILE_UNREADABLE');
    expect(error.message).toContain(`TURNKEEPER_CONFIG: the file ${missing} does not exist`);
    expect(loadError({ flags: { config: missing } }).message).toContain('--config');
  });

  it('never shows the value of a header', () => {
    writeFileSync(
      file,
      'providers:\n  local: { wire: messages, headers: { authorization: [hush-1, hush-2] } }',
    );
    expect(loadError().message).not.toContain('hush');
  });
});

describe('who may reach the server', () => {
  it('is by default whoever is on this machine, and no page of another origin', () => {
    expect(load({}).configuration.server).toMatchObject({
      keys: 'auto',
      allowedHosts: null,
      allowedOrigins: [],
    });
  });

  it.each([
    'allowedHosts: ["agents.example:8443"]',
    'allowedHosts: ["https://agents.example"]',
    'allowedHosts: [""]',
    'allowedOrigins: ["*"]',
    'allowedOrigins: ["null"]',
    'allowedOrigins: ["app.example"]',
    'allowedOrigins: ["https://app.example/"]',
    'allowedOrigins: ["https://app.example:443"]',
    'allowedOrigins: ["https://APP.example"]',
    'keys: none',
  ])('is not said by %s', (line) => {
    writeFileSync(file, `server:\n  ${line}\n`);
    expect(loadError().message).toContain(`server.${line.split(':')[0] ?? ''}`);
  });

  it('is said by host names and origins as they are sent', () => {
    writeFileSync(
      file,
      'server: { allowedHosts: [agents.example, "[fd00::1]"], allowedOrigins: ["https://app.example", "http://[::1]:3000"] }',
    );
    expect(load({}).configuration.server.allowedOrigins).toHaveLength(2);
  });
});

describe('the address that the server listens on', () => {
  it.each(['127.0.0.1', '127.1.2.3', 'localhost', '::1', '[::1]'])('may be %s', (host) => {
    expect(isLoopbackHost(host)).toBe(true);
    expect(load({ flags: { host } }).configuration.server.host).toBe(host);
  });

  it.each(['0.0.0.0', '::', '10.0.0.1', 'example.org', '127.0.0.1.example.org'])(
    'may be %s, which is not on loopback',
    (host) => {
      expect(isLoopbackHost(host)).toBe(false);
      expect(load({ env: { TURNKEEPER_HOST: host } }).configuration.server.host).toBe(host);
    },
  );
});
