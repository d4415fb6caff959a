/** Webhooks through the real engine, to a receiver that fails, is slow, redirects or is away. */
import { createHmac } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { followUpWorkflowId, type FollowUpRef } from '../../src/contract/follow-up.js';
import type { TurnResource } from '../../src/contract/http.js';
import { startFollowUpSweeper } from '../../src/runtime/follow-up-sweeper.js';
import { turnSetup, type SetupOptions } from '../support/turn-setup.js';
import { until } from '../support/until.js';
import { startWebhookReceiver, type ReceiverReply, type Delivery } from '../support/webhook-receiver.js';

const { startWithApi } = turnSetup();
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const SECRET = 'open-sesame';

async function receiver(reply?: (delivery: Delivery) => ReceiverReply) {
  const started = await startWebhookReceiver(reply);
  open.push(() => started.close());
  return started;
}

async function setup(options: SetupOptions = {}) {
  const parts = await startWithApi([{ text: 'Here it is.' }], options);
  const { runtime, client } = parts;
  const submit = async (url: string, secret?: string): Promise<{ turn: TurnResource; ref: FollowUpRef }> => {
    const webhook = { url, ...(secret === undefined ? {} : { secret }) };
    const turn = await client.runTurn({ prompt: 'go', webhook }, { waitSeconds: 60 });
    const session = await runtime.store.findSession('default', turn.sessionId);
    return { turn, ref: { uid: session!.uid, turn: 1, kind: 'webhook' } };
  };
  const isDue = async ({ uid, turn }: FollowUpRef) =>
    (await runtime.store.followUps.due({ uid, turn })).length > 0;
  const workflow = (ref: FollowUpRef) =>
    runtime.client.workflow.getHandle(followUpWorkflowId(runtime.deployment, ref));
  return { ...parts, submit, isDue, workflow };
}

describe('a webhook', () => {
  it('is posted once with the ended turn, signed over its very bytes', async () => {
    const { submit, isDue, client } = await setup();
    const target = await receiver();
    const { turn, ref } = await submit(`${target.url}?a=1`, SECRET);
    const { path, headers, raw, body } = await target.delivery(1);
    await until(async () => !(await isDue(ref)));
    expect(path).toBe('POST /hook?a=1');
    expect(headers['content-type']).toBe('application/json');
    expect(body).toMatchObject({ type: 'turn.ended', deliveryId: expect.any(String) as string });
    expect(body.turn).toEqual(await client.turn(turn.sessionId, 1));
    expect(body.turn).toMatchObject({ status: 'ended', output: 'Here it is.' });
    const [, time, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['turnkeeper-signature']))!;
    expect(mac).toBe(createHmac('sha256', SECRET).update(`${time!}.${raw}`).digest('hex'));
    expect(Math.abs(Number(time) - Date.now() / 1000)).toBeLessThan(60);
    expect(target.deliveries).toHaveLength(1);
  });

  it('without a secret is not signed', async () => {
    const { submit } = await setup();
    const target = await receiver();
    await submit(target.url);
    expect((await target.delivery(1)).headers).not.toHaveProperty('turnkeeper-signature');
  });

  it('that is not taken is posted again under the same delivery id, until it is', async () => {
    const { submit, isDue } = await setup();
    const target = await receiver(({ number }) => ({ status: number < 3 ? 500 : 200 }));
    const { ref } = await submit(target.url, SECRET);
    const [first, third] = [await target.delivery(1), await target.delivery(3)];
    expect(third.body).toEqual(first.body);
    await until(async () => !(await isDue(ref)));
    expect(target.deliveries).toHaveLength(3);
  });

  it('waits as long as the receiver asks', async () => {
    const { submit } = await setup();
    const times: number[] = [];
    const target = await receiver(({ number }) => {
      times.push(Date.now());
      return number === 1 ? { status: 503, headers: { 'retry-after': '3' } } : { status: 200 };
    });
    await submit(target.url);
    await target.delivery(2);
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(2900);
  });

  it('does not follow a redirect: it is no success', async () => {
    const { submit, isDue } = await setup();
    const elsewhere = await receiver();
    const target = await receiver(({ number }) =>
      number === 1 ? { status: 307, headers: { location: elsewhere.url } } : { status: 200 },
    );
    const { ref } = await submit(target.url);
    await target.delivery(2);
    await until(async () => !(await isDue(ref)));
    expect(elsewhere.deliveries).toEqual([]);
  });

  it('that is not answered in time is posted again', async () => {
    const { submit, isDue } = await setup();
    const target = await receiver(({ number }) => (number === 1 ? 'silence' : { status: 200 }));
    const { ref } = await submit(target.url);
    await target.delivery(2);
    await until(async () => !(await isDue(ref)));
  });

  it('is given up a day after the end of its turn, and no sooner', async () => {
    let ahead = 0;
    const { submit, isDue, runtime } = await setup({ clock: () => Date.now() + ahead });
    const target = await receiver(() => ({ status: 500 }));
    const { ref } = await submit(target.url);
    await target.delivery(1);
    // As after a day of tries, the last of which is about to come.
    for (let n = 0; n < 8; n++) await runtime.store.followUps.begin(ref);
    await target.delivery(2);
    expect(await isDue(ref)).toBe(true);
    ahead = 25 * 3_600_000;
    await until(async () => !(await isDue(ref)));
    expect(await runtime.store.followUps.begin(ref)).toBeUndefined();
  });

  it('of a session that is deleted meanwhile is not posted again', async () => {
    const { submit, workflow, client } = await setup();
    const target = await receiver(() => ({ status: 500 }));
    const { turn, ref } = await submit(target.url);
    await target.delivery(1);
    await client.deleteSession(turn.sessionId);
    await workflow(ref).result();
    expect((await workflow(ref).describe()).status.name).toBe('COMPLETED');
  });

  it('leaves nothing of its address, its secret or the turn in the engine', async () => {
    const { submit, isDue, workflow, runtime } = await setup();
    const target = await receiver(({ number }) => ({ status: number < 2 ? 500 : 200 }));
    const { ref } = await submit(`${target.url}/private-path`, SECRET);
    await until(async () => !(await isDue(ref)));
    await workflow(ref).result();
    const history = JSON.stringify(await workflow(ref).fetchHistory());
    const decoded = history.replace(/"data":"([A-Za-z0-9+/=]+)"/g, (_all, data: string) =>
      Buffer.from(data, 'base64').toString('utf8'),
    );
    expect(decoded).toContain(ref.uid);
    expect(decoded).not.toMatch(/private-path|127\.0\.0\.1|open-sesame|Here it is/);
    const log = JSON.stringify(await runtime.events(ref.uid));
    expect(log).not.toMatch(/private-path|open-sesame/);
  });

  it('whose start was lost is started by the sweeper, once however often it sweeps', async () => {
    const { submit, isDue, runtime } = await setup();
    const target = await receiver();
    const refused = runtime.engine.startFollowUp.bind(runtime.engine);
    Object.assign(runtime.engine, { startFollowUp: () => Promise.reject(new Error('the engine is away')) });
    const { ref } = await submit(target.url);
    expect(await isDue(ref)).toBe(true);
    const sweeper = startFollowUpSweeper({
      store: runtime.store,
      engine: { startFollowUp: refused },
      clock: Date.now,
      logger: pino({ level: 'silent' }),
      isEngineUp: () => true,
    });
    await sweeper.sweepAll();
    await sweeper.sweepAll();
    await until(async () => !(await isDue(ref)));
    await sweeper.sweepAll();
    sweeper.stop();
    expect(target.deliveries).toHaveLength(1);
  });

  it('goes on after the workers were started again', async () => {
    const { submit, isDue, runtime } = await setup();
    const target = await receiver(({ number }) => ({ status: number < 2 ? 500 : 200 }));
    const { ref } = await submit(target.url);
    await target.delivery(1);
    await runtime.restart();
    await target.delivery(2);
    await until(async () => !(await isDue(ref)));
    expect(target.deliveries[1]!.body).toEqual(target.deliveries[0]!.body);
  });
});
