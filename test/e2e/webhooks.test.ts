import { afterEach, expect, it } from 'vitest';
import { makeHome } from '../support/home-folder.js';
import { ScriptedModelServer } from '../support/scripted-model-server.js';
import { startServe } from '../support/serve-process.js';
import { startWebhookReceiver } from '../support/webhook-receiver.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

it('a webhook is delivered after kill -9 of the server that was posting it', async () => {
  const model = await ScriptedModelServer.start({ script: () => ({ text: 'Done.' }) });
  ends.push(() => model.close());
  const receiver = await startWebhookReceiver(({ number }) => (number === 1 ? 'silence' : { status: 200 }));
  ends.push(() => receiver.close());
  const home = makeHome(model.url, { webhooks: { allowPrivateAddresses: true } });
  ends.push(() => {
    home.remove();
  });
  const first = await startServe({ home: home.home });
  const webhook = { url: receiver.url, secret: 'open-sesame' };
  await first.client.runTurn({ prompt: 'go', webhook });
  const lost = await receiver.delivery(1);
  await first.end('SIGKILL');
  const second = await startServe({ home: home.home });
  ends.push(() => second.end('SIGTERM'));
  const delivered = await receiver.delivery(2);
  expect(delivered.body).toEqual(lost.body);
  expect(delivered.body.turn).toMatchObject({ status: 'ended', output: 'Done.' });
  expect(delivered.headers['turnkeeper-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
  expect(first.output() + second.output()).not.toContain('open-sesame');
});
