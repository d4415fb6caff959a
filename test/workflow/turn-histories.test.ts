import { describe, expect, it } from 'vitest';
import { pino } from 'pino';
import { createTurnHistories } from '../../src/runtime/turn-histories.js';
import { turnSetup } from '../support/turn-setup.js';

const { start } = turnSetup();

const WORKFLOW_FORGOTTEN_MS = 150_000;

describe('the workflows of a deleted session', () => {
  it(
    'are deleted once they are closed, and those of other sessions stay',
    async () => {
      const { runtime } = await start(({ number }) =>
        number < 4 ? { text: 'Yes.' } : { connection: 'silence' },
      );
      const { client, deployment, store } = runtime;
      const histories = createTurnHistories({
        client,
        namespace: 'default',
        deployment,
        logger: pino({ level: 'silent' }),
      });
      const [gone, kept] = [await runtime.createSession(), await runtime.createSession()];
      for (const [uid, turn] of [
        [gone, 1],
        [gone, 2],
        [kept, 1],
      ] as const) {
        await runtime.prompt(uid, 'go');
        await runtime.ended(uid, turn);
        await client.workflow.getHandle(`${deployment}/turn/${uid}/${String(turn)}`).result();
      }
      await runtime.prompt(gone, 'go');
      const remembered = async (uid: string) => {
        const workflows: string[] = [];
        const query = `WorkflowId STARTS_WITH "${deployment}/turn/${uid}/"`;
        for await (const { status } of client.workflow.list({ query })) workflows.push(status.name);
        return workflows.sort();
      };
      await expect.poll(() => remembered(gone)).toEqual(['COMPLETED', 'COMPLETED', 'RUNNING']);
      await store.deleteSession(gone);
      expect(await histories.forgetSession(gone)).toBe(false);
      // Asked again and again, as the retention does: the running one ends by itself, and nothing is left.
      await expect
        .poll(() => histories.forgetSession(gone), { timeout: WORKFLOW_FORGOTTEN_MS, interval: 1000 })
        .toBe(true);
      expect(await remembered(gone)).toEqual([]);
      await expect(
        client.workflow.getHandle(`${deployment}/turn/${gone}/1`).describe(),
      ).rejects.toMatchObject({ name: 'WorkflowNotFoundError' });
      expect(await remembered(kept)).toEqual(['COMPLETED']);
    },
    WORKFLOW_FORGOTTEN_MS + 20_000,
  );
});
