/**
 * An installation that tests kill and start again: a home, a scripted model, and `serve` under the address that it
 * always has.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionEvent } from '../../src/contract/events.js';
import type { ApprovalResource } from '../../src/contract/http-asks.js';
import { makeHome, type HomeFolder } from './home-folder.js';
import {
  ScriptedModelServer,
  type RecordedRequest,
  type Reply,
  type Script,
} from './scripted-model-server.js';
import { enginePid, freePort, startServe, type ServeOptions, type ServeProcess } from './serve-process.js';

export interface InstallationOptions {
  readonly script: Script;
  /** Further profiles, and parts of the default one. */
  readonly profiles?: Readonly<Record<string, object>>;
  /** The environment of the servers. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Installation extends Omit<HomeFolder, 'remove'> {
  readonly model: ScriptedModelServer;
  /** The server that was started last. */
  readonly server: ServeProcess;
  /** Where `serve` listens, also while none runs. */
  readonly url: string;
  serve(options?: Pick<ServeOptions, 'logFile'>): Promise<ServeProcess>;
  /** Prompts a new session and returns its id. */
  prompt(text: string, profile?: string): Promise<string>;
  /** The whole log of a session. */
  events(sessionId: string): Promise<SessionEvent[]>;
  /** What a file of the workspace holds; '' where there is none. */
  file(name: string): string;
  /** Ends what runs and removes the home. */
  remove(): Promise<void>;
}

/** Makes the home; nothing is served yet. */
export async function install({
  script,
  profiles = {},
  env = {},
}: InstallationOptions): Promise<Installation> {
  const model = await ScriptedModelServer.start({ script });
  const { default: ownDefault, ...others } = profiles;
  const home = makeHome(model.url, {
    profiles: {
      default: { provider: 'scripted', model: 'scripted-model', permission: 'full-access', ...ownDefault },
      ...others,
    },
  });
  const port = await freePort();
  const servers: ServeProcess[] = [];
  const server = () => {
    const last = servers.at(-1);
    if (last === undefined) throw new Error('Nothing is served yet.');
    return last;
  };
  return {
    ...home,
    model,
    url: `http://127.0.0.1:${String(port)}`,
    get server() {
      return server();
    },
    serve: async (options = {}) => {
      const started = await startServe({ home: home.home, port, env, ...options });
      servers.push(started);
      return started;
    },
    prompt: async (text, profile) => {
      const { client } = server();
      const { workspace } = home;
      const { id } = await client.createSession({ workspace, ...(profile === undefined ? {} : { profile }) });
      await client.prompt(id, { text });
      return id;
    },
    events: async (sessionId) => [...(await server().client.events(sessionId, { limit: 1000 })).items],
    file: (name) => fileText(join(home.workspace, name)),
    remove: async () => {
      await servers.at(-1)?.end('SIGTERM');
      await model.close();
      home.remove();
    },
  };
}

/** Resolves once the check holds. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** What the session's turns said, once all of them have ended. */
export async function outputsOf(
  { server }: Installation,
  sessionId: string,
  turns: number,
): Promise<string[]> {
  const outputs: string[] = [];
  // The next one is opened by the end of the one before it.
  for (let turn = 1; turn <= turns; turn += 1) {
    outputs.push((await server.client.turn(sessionId, turn, { waitSeconds: 60 })).output ?? '');
  }
  return outputs;
}

/** What a program outside reads of a problem or an approval. */
export interface DecisionAnswer {
  readonly status: number;
  readonly body: Partial<ApprovalResource> & { readonly code?: string };
}

/** Decides an approval as a program outside does. Rejects where nobody listens. */
export async function decideByHttp(
  url: string,
  approvalId: string,
  outcome: 'allow' | 'deny',
): Promise<DecisionAnswer> {
  const response = await fetch(`${url}/v1/approvals/${approvalId}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ outcome }),
  });
  return { status: response.status, body: (await response.json()) as DecisionAnswer['body'] };
}

/** The id of the approval that the session waits for, once it is asked. */
export async function askedApproval({ server }: Installation, sessionId: string): Promise<string> {
  for (;;) {
    const { items } = await server.client.approvals({ session: sessionId });
    const [asked] = items;
    if (asked !== undefined) return asked.approvalId;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Sends a signal to the engine's process. `SIGSTOP` freezes it: it takes no message any more. */
export function signalEngine(
  { home }: Pick<HomeFolder, 'home'>,
  signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL',
): void {
  process.kill(enginePid(home), signal);
}

/** The command lines of running processes that contain the text. */
export function processesWith(text: string): string[] {
  return execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(text));
}

/**
 * A model that runs the commands of its session's one prompt, each on a line as `$ command`, with bash, and says "Done."
 * when it has their results.
 */
export function commandModel(request: RecordedRequest): Reply {
  const messages = request.body['messages'] as { role: string; content: unknown }[];
  if (messages.some(({ role }) => role === 'tool')) return { text: 'Done.' };
  const lines = messages.flatMap(({ role, content }) => (role === 'user' ? textOf(content).split('\n') : []));
  const commands = lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2));
  if (commands.length === 0) return { text: 'There is no command.' };
  return { calls: commands.map((command) => ({ name: 'bash', arguments: { command } })) };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? (content as { text?: string }[]) : [];
  return parts.map(({ text = '' }) => text).join('');
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Not written yet.
    return '';
  }
}
