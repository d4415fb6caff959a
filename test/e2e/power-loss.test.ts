/**
 * What a power cut leaves: a log that has all that it said, and an engine's database without its last commits, or of which
 * nothing can be read. Real processes, all of them killed.
 */
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/contract/events.js';
import { strayEngines } from '../../src/runtime/engine/engine-state.js';
import {
  askedApproval,
  commandModel,
  decideByHttp,
  install,
  outputsOf,
  signalEngine,
  until,
  type Installation,
} from '../support/installation.js';
import { checkLog } from '../support/log-invariants.js';
import { isAlive } from '../support/processes.js';
import type { RecordedRequest, Reply } from '../support/scripted-model-server.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const STREAM = 'One two three four five six seven eight nine ten';

async function served(): Promise<Installation> {
  const rules = [{ tool: 'bash', decision: 'ask' }];
  const asking = { provider: 'scripted', model: 'scripted-model', permission: 'full-access', rules };
  const installation = await install({ script: model(), profiles: { asking } });
  ends.push(() => installation.remove());
  await installation.serve();
  return installation;
}

/** Answers by what the session was prompted with: slowly, at the second try, or with the commands of the prompt. */
function model(): (request: RecordedRequest) => Reply {
  let isRefused = false;
  return (request) => {
    if (request.raw.includes('do: stream')) return { text: STREAM, pieces: 10, delayMs: 200 };
    if (!request.raw.includes('do: retry')) return commandModel(request);
    if (isRefused) return { text: 'At the second try.' };
    isRefused = true;
    return { status: 429, headers: { 'retry-after': '4' }, body: {} };
  };
}

const effect = (name: string) => `$ echo ${name} >> effects.log`;

/** Resolves when the log of the session has such an event. */
function untilLogged(installation: Installation, id: string, type: SessionEvent['type']): Promise<void> {
  return until(async () => (await installation.events(id)).some((event) => event.type === type));
}

describe('after a power cut', () => {
  it.each(['an older copy', 'rubbish'])(
    'every open turn goes on from the log where the engine has %s, and nothing is done twice',
    async (what) => {
      const installation = await served();
      const asking = await installation.prompt(effect('asked'), 'asking');
      const approvalId = await askedApproval(installation, asking);
      const known = await installation.prompt(`${effect('known')}; sleep 1`);
      await installation.server.client.prompt(known, { text: 'queued' });
      await until(() => installation.file('effects.log').includes('known'));
      const older = copyEngineDatabase(installation);
      // What comes from here on the older copy does not know of: the end of one turn, a whole one, and new sessions.
      await outputsOf(installation, known, 2);
      const stream = await installation.prompt('do: stream');
      const retry = await installation.prompt('do: retry');
      const unknown = await installation.prompt(`${effect('unknown')}; sleep 3`);
      await installation.server.client.prompt(unknown, { text: 'queued' });
      await untilLogged(installation, retry, 'llm/retry');
      await untilLogged(installation, stream, 'request/header');
      await until(() => installation.file('effects.log').includes('unknown'));

      signalEngine(installation, 'SIGKILL');
      await installation.server.end('SIGKILL');
      await endEngines(installation);
      for (const name of databaseFiles(installation)) rmSync(join(installation.home, name));
      if (what === 'rubbish')
        writeFileSync(join(installation.home, 'temporal.db'), 'no database '.repeat(1000));
      else cpSync(older, installation.home, { recursive: true });

      await installation.serve();
      expect((await decideByHttp(installation.url, approvalId, 'allow')).status).toBe(200);
      const outputs = [];
      for (const [id, turns] of [
        [asking, 1],
        [known, 2],
        [stream, 1],
        [retry, 1],
        [unknown, 2],
      ] as const) {
        outputs.push(...(await outputsOf(installation, id, turns)));
        expect(checkLog(await installation.events(id))).toEqual([]);
      }
      expect(outputs).toEqual(['Done.', 'Done.', 'Done.', STREAM, 'At the second try.', 'Done.', 'Done.']);
      const effects = installation.file('effects.log').trim().split('\n').sort();
      expect(effects).toEqual(['asked', 'known', 'unknown']);
      expect(installation.model.refusals).toEqual([]);
    },
  );
});

/** As the disk had it in one moment: the WAL is a part of it. */
function copyEngineDatabase(installation: Installation): string {
  const older = join(installation.home, '..', 'older');
  mkdirSync(older);
  signalEngine(installation, 'SIGSTOP');
  for (const name of databaseFiles(installation)) cpSync(join(installation.home, name), join(older, name));
  signalEngine(installation, 'SIGCONT');
  return older;
}

function databaseFiles({ home }: Installation): string[] {
  return readdirSync(home).filter((name) => name.startsWith('temporal.db'));
}

/** Resolves when no engine works in the home any more: one may have been started again before its server was killed. */
async function endEngines({ home }: Installation): Promise<void> {
  for (const { pid } of strayEngines(home, undefined)) {
    process.kill(pid, 'SIGKILL');
    await until(() => !isAlive(pid));
  }
}
