/** What tests of whole turns against a scripted model begin with, and its end after each test. */
import { afterEach, inject } from 'vitest';
import type { EventData, EventType, SessionEvent } from '../../src/contract/events.js';
import type { SessionUid } from '../../src/contract/ids.js';
import {
  ScriptedModelServer,
  type Script,
  type ScriptedModelServerOptions,
} from './scripted-model-server.js';
import { serveTurnApi, type TurnApi } from './turn-api.js';
import { startTurnRuntime, type TurnRuntime, type TurnRuntimeOptions } from './turn-runtime.js';

export type SetupOptions = Partial<TurnRuntimeOptions> & {
  readonly server?: Omit<ScriptedModelServerOptions, 'script'>;
};

export interface TurnSetup {
  readonly model: ScriptedModelServer;
  readonly runtime: TurnRuntime;
}

/** Call it once in a test file: what its functions start ends after each test. */
export function turnSetup() {
  const open: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const stop of open.splice(0).reverse()) await stop();
  });

  const start = async (script: Script, { server, ...options }: SetupOptions = {}): Promise<TurnSetup> => {
    const model = await ScriptedModelServer.start({ script, ...server });
    open.push(() => model.close());
    const runtime = await startTurnRuntime({
      temporalAddress: inject('temporalAddress'),
      modelUrl: model.url,
      ...options,
    });
    open.push(() => runtime.stop());
    return { model, runtime };
  };

  const startWithApi = async (script: Script, options: SetupOptions = {}): Promise<TurnSetup & TurnApi> => {
    const setup = await start(script, options);
    const api = await serveTurnApi(setup.runtime);
    open.push(() => api.stop());
    return { ...setup, ...api };
  };

  return { start, startWithApi };
}

/** The data of all events of a type. */
export function dataOf<T extends EventType>(events: readonly SessionEvent[], type: T): EventData<T>[] {
  return events.flatMap((event) => (event.type === type ? [event.data as EventData<T>] : []));
}

/** Resolves once the log holds such an event. */
export function untilEvent(
  { store }: Pick<TurnRuntime, 'store'>,
  uid: SessionUid,
  found: (event: SessionEvent) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = () => {
      store.readEvents(uid, { limit: 100_000 }).then((events) => {
        if (!events.some(found)) return;
        unwatch();
        resolve();
      }, reject);
    };
    const unwatch = store.watch(uid, check);
    check();
  });
}
