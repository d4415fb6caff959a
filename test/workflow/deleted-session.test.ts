import { expect, inject, it } from 'vitest';
import { ScriptedModelServer } from '../support/scripted-model-server.js';
import { startTurnRuntime } from '../support/turn-runtime.js';

it('the turn of a session that is deleted ends, with the model call closed', async () => {
  const model = await ScriptedModelServer.start({ script: () => ({ connection: 'silence' }) });
  const runtime = await startTurnRuntime({
    temporalAddress: inject('temporalAddress'),
    modelUrl: model.url,
  });
  const uid = await runtime.createSession();
  await runtime.prompt(uid, 'go');
  const request = await model.request(1);
  await runtime.store.deleteSession(uid);
  expect((await request.closed).early).toBe(true);
  await runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`).result();
  await runtime.stop();
  await model.close();
});
