import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { checkLog } from '../support/log-invariants.js';
import {
  askedApproval,
  commandModel,
  decideByHttp,
  install,
  until,
  type Installation,
} from '../support/installation.js';
import { runCli } from '../support/serve-process.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function installed(): Promise<Installation> {
  const profiles = {
    asking: {
      provider: 'scripted',
      model: 'scripted-model',
      permission: 'full-access',
      rules: [{ tool: 'bash', decision: 'ask' }],
    },
  };
  const installation = await install({ script: commandModel, profiles });
  ends.push(() => installation.remove());
  return installation;
}

const effect = (name: string) => `$ echo ${name} >> effects.log`;

/** Sessions at work: one that waits for an approval, and a command that runs for a while. */
async function atWork(installation: Installation) {
  await installation.serve();
  const asking = await installation.prompt(effect('asked'), 'asking');
  const approvalId = await askedApproval(installation, asking);
  const running = await installation.prompt(`${effect('running')}; sleep 3`);
  await until(() => installation.file('effects.log').includes('running'));
  return { asking, approvalId, running };
}

/** Every session has ended well, and every effect has happened once. */
async function expectAllDone(
  installation: Installation,
  sessions: readonly string[],
  effects: readonly string[],
) {
  for (const id of sessions) {
    const turn = await installation.server.client.turn(id, 1, { waitSeconds: 60 });
    expect(turn.status).toBe('ended');
    expect(checkLog(await installation.events(id))).toEqual([]);
  }
  const lines = installation.file('effects.log').trim().split('\n');
  expect(lines.sort()).toEqual([...effects].sort());
}

describe('a backup', () => {
  it('is taken while the server works, and goes on from where it was in the place of the home', async () => {
    const installation = await installed();
    const { asking, approvalId, running } = await atWork(installation);
    const copy = join(installation.home, '..', 'copy');
    const made = await runCli(['backup', copy, '--home', installation.home]);
    expect(made).toMatchObject({ code: 0, stdout: `${copy}\n` });
    expect(readdirSync(copy)).toEqual(expect.arrayContaining(['host-id', 'sessions.db', 'temporal.db']));
    const again = await runCli(['backup', copy, '--home', installation.home]);
    expect(again.code).toBe(1);
    expect(again.stderr).toContain('is not empty');

    await installation.server.end('SIGTERM');
    rmSync(installation.home, { recursive: true });
    renameSync(copy, installation.home);
    await installation.serve();
    expect((await decideByHttp(installation.url, approvalId, 'allow')).status).toBe(200);
    await expectAllDone(installation, [asking, running], ['asked', 'running']);
    await installation.prompt('$ true');
  });

  it('is refused where it would lie in the home, or where there is nothing to copy', async () => {
    const installation = await installed();
    const inside = await runCli(['backup', join(installation.home, 'copy'), '--home', installation.home]);
    expect(inside).toMatchObject({ code: 1 });
    expect(inside.stderr).toContain('lies in the home');
    const nothing = await runCli(['backup', join(installation.home, '..', 'c'), '--home', installation.home]);
    expect(nothing.stderr).toContain('nothing to copy');
    expect(existsSync(join(installation.home, '..', 'c'))).toBe(false);
  });
});
