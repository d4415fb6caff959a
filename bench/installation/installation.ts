/**
 * A real installation: `serve` as a process of its own, with its embedded engine and its files in a home.
 *
 * Owns start, readiness, kill and end of both processes. Whoever starts one ends it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, closeSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nowMs } from '../clock.js';
import { until } from '../until.js';
import { Api } from './api.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface ServeOptions {
  readonly home: string;
  /** Base URL of the scripted model. */
  readonly modelUrl: string;
  /** Further arguments for node, such as a profiler's. */
  readonly nodeArguments: readonly string[];
}

interface ServerState {
  readonly url: string;
  readonly pid: number;
}
interface EngineState {
  readonly pid: number;
}

/** Every pid that was started here and may still run: ended when the benchmark is, however it is. */
const running = new Set<number>();
process.once('exit', () => {
  for (const pid of running) kill(pid);
});

export class Installation {
  private constructor(
    private readonly options: ServeOptions,
    private readonly parts: { readonly child: ChildProcess; readonly api: Api; readonly enginePid: number },
    /** The instant at which `/readyz` said 200, as of `nowMs`. */
    readonly readyAt: number,
    /** From the spawn of `serve` to that instant. */
    readonly readyMs: number,
  ) {
    running.add(parts.enginePid);
  }

  static async start(options: ServeOptions): Promise<Installation> {
    writeConfiguration(options);
    const log = openSync(join(options.home, 'serve.log'), 'a');
    const spawnedAt = nowMs();
    const child = spawn(process.execPath, [...options.nodeArguments, MAIN, 'serve'], {
      env: { ...ownEnvironment(), TURNKEEPER_HOME: options.home, TURNKEEPER_PORT: '0' },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    running.add(child.pid!);
    child.once('exit', () => running.delete(child.pid!));
    const url = await until('address of serve', () => {
      if (child.exitCode !== null) {
        throw new Error(`serve ended: ${readFileSync(join(options.home, 'serve.log'), 'utf8')}`);
      }
      const server = stateOf(options.home, 'server.json') as ServerState | undefined;
      return server?.pid === child.pid ? server?.url : undefined;
    });
    const api = new Api(url);
    const readyAt = await until('readiness', async () => {
      // Not ready is 503, which `call` throws.
      const answer = await api.call('GET', '/readyz').catch(() => undefined);
      return answer?.answeredAt;
    });
    const enginePid = (stateOf(options.home, 'engine.json') as EngineState | undefined)?.pid ?? 0;
    return new Installation(options, { child, api, enginePid }, readyAt, readyAt - spawnedAt);
  }

  get api(): Api {
    return this.parts.api;
  }

  get pid(): number {
    return this.parts.child.pid!;
  }

  get enginePid(): number {
    return this.parts.enginePid;
  }

  /** A new `serve` on the same home. */
  again(): Promise<Installation> {
    return Installation.start(this.options);
  }

  /** SIGTERM; resolves when `serve` has ended, and its engine with it. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
    running.delete(this.enginePid);
  }

  /** SIGKILL to `serve` and, where asked, to its engine. Resolves with the instant, once both are gone. */
  async kill(withEngine: boolean): Promise<number> {
    const killedAt = nowMs();
    if (withEngine) {
      kill(this.enginePid);
      running.delete(this.enginePid);
    }
    await this.#end('SIGKILL');
    return killedAt;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const { api, child } = this.parts;
    api.close();
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

function stateOf(home: string, file: string): unknown {
  try {
    return JSON.parse(readFileSync(join(home, file), 'utf8'));
  } catch {
    // Not written yet.
    return undefined;
  }
}

function writeConfiguration({ home, modelUrl }: ServeOptions): void {
  const file = join(home, 'turnkeeper.config.yaml');
  if (existsSync(file)) return;
  // YAML is a superset of JSON.
  const configuration = {
    providers: { scripted: { wire: 'chat-completions', baseUrl: modelUrl, models: { scripted: {} } } },
    profiles: {
      default: {
        provider: 'scripted',
        model: 'scripted',
        permission: 'full-access',
        limits: { steps: 10_000 },
      },
    },
  };
  writeFileSync(file, JSON.stringify(configuration));
}

/** The environment without what would configure another installation than the one that is measured. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const kept = ['TURNKEEPER_TEMPORAL_CLI', 'TURNKEEPER_CACHE'];
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => kept.includes(name) || !/^(?:TURNKEEPER|TEMPORAL)_/.test(name),
    ),
  );
}
