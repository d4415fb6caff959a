import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { installTemporalRuntime } from '../../src/runtime/temporal-runtime.js';
import { workflowBundlePath } from '../../src/runtime/workflow-bundle.js';

installTemporalRuntime(pino({ level: 'silent' }));

/** A history as it is stored: protobuf's JSON. */
interface StoredHistory {
  events: {
    eventType: string;
    activityTaskScheduledEventAttributes?: { activityType: { name: string } };
  }[];
}

const root = fileURLToPath(new URL('./histories/', import.meta.url));
const histories = readdirSync(root).flatMap((release) =>
  readdirSync(join(root, release)).map((file) => ({ release, kind: file.replace('.json', '') })),
);

function load({ release, kind }: { release: string; kind: string }): StoredHistory {
  return JSON.parse(readFileSync(join(root, release, `${kind}.json`), 'utf8')) as StoredHistory;
}

function replay(history: StoredHistory): Promise<void> {
  return Worker.runReplayHistory({ workflowBundle: { codePath: workflowBundlePath() } }, history);
}

describe('the workflow replays the turns of every release', () => {
  it.each(histories)('$release: $kind', async (stored) => {
    await replay(load(stored));
  });
});

describe('a replay', () => {
  it('refuses a history in which two commands stand in another order', async () => {
    const release = histories[0]?.release ?? '';
    const history = load({ release, kind: 'parallel-and-exclusive-tools' });
    const scheduled = history.events.flatMap(
      ({ activityTaskScheduledEventAttributes }) => activityTaskScheduledEventAttributes ?? [],
    );
    const [first, second] = scheduled;
    if (first === undefined || second === undefined) throw new Error('The history has too few commands.');
    expect(first.activityType.name).not.toBe(second.activityType.name);
    [first.activityType, second.activityType] = [second.activityType, first.activityType];
    await expect(replay(history)).rejects.toThrow();
  });

  it('finds nothing of what users, models and tools wrote in any history', () => {
    for (const stored of histories) {
      const raw = readFileSync(join(root, stored.release, `${stored.kind}.json`), 'utf8');
      const payloads = [...raw.matchAll(/"data": "([A-Za-z0-9+/=]*)"/g)].map(([, data]) =>
        Buffer.from(data ?? '', 'base64').toString('utf8'),
      );
      const text = `${raw}\n${payloads.join('\n')}`;
      for (const content of ['Hello.', 'Second try.', 'alpha', 'a.txt', '"go"']) {
        expect(text.includes(content), `${stored.kind} holds ${content}`).toBe(false);
      }
    }
  });
});
