/**
 * Records the histories that `replay.test.ts` replays, one file a kind of turn, into a folder for this release.
 *
 * Run by hand before a release, never by the tests: `node --import tsx test/replay/record-histories.ts`.
 * The histories of earlier releases stay: turns that were parked under them must finish on the present code.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { Profile } from '../../src/contract/configuration.js';
import { eventKeys } from '../../src/contract/event-keys.js';
import { startEmbeddedEngine } from '../../src/runtime/engine/embedded-engine.js';
import { findTemporalCli } from '../../src/runtime/engine/find-temporal-cli.js';
import { VERSION } from '../../src/runtime/version.js';
import { ASK_RULES, askingTools } from '../support/asking-tools.js';
import { answer, decide, openApprovals } from '../support/persons.js';
import { ScriptedModelServer, type Script } from '../support/scripted-model-server.js';
import { startTurnRuntime, type TurnRuntime } from '../support/turn-runtime.js';

interface Kind {
  readonly name: string;
  readonly script: Script;
  /** Tools in the place of the built-in ones, and the profile's rules for them. */
  readonly asking?: boolean;
  readonly profile?: Partial<Profile>;
  readonly during?: (model: ScriptedModelServer, runtime: TurnRuntime, uid: Session) => Promise<void>;
}
type Session = Awaited<ReturnType<TurnRuntime['createSession']>>;

const KINDS: readonly Kind[] = [
  { name: 'text-only', script: [{ text: 'Hello.' }] },
  {
    name: 'quick-tool',
    script: [{ calls: [{ name: 'read', arguments: { file_path: 'a.txt' } }] }, { text: 'Read.' }],
  },
  {
    name: 'parallel-and-exclusive-tools',
    script: [
      {
        calls: [
          { name: 'grep', arguments: { pattern: 'alpha' } },
          { name: 'read', arguments: { file_path: 'a.txt' } },
          { name: 'bash', arguments: { command: 'true' } },
          { name: 'grep', arguments: { pattern: 'beta' } },
        ],
      },
      { text: 'Done.' },
    ],
  },
  {
    name: 'retried-model-call',
    script: [{ status: 503, headers: { 'retry-after-ms': '20' } }, { text: 'Second try.' }],
  },
  { name: 'failed-model-call', script: [{ status: 401 }] },
  {
    name: 'cancelled-in-the-model-call',
    script: () => ({ connection: 'silence' }),
    during: async (model, runtime, uid) => {
      await model.request(1);
      await runtime.store.transact(uid, async (transaction) => {
        await transaction.append([
          {
            type: 'turn/cancel-requested',
            key: eventKeys.cancelRequested(1),
            turn: 1,
            data: { by: 'recorder' },
          },
        ]);
      });
      await runtime.engine.cancelTurn(uid, 1);
    },
  },
  {
    name: 'approvals-and-a-question',
    asking: true,
    script: [
      {
        calls: [
          { name: 'announce', arguments: { text: 'alpha' } },
          { name: 'look', arguments: { text: 'alpha' } },
          { name: 'ask_user_question', arguments: { questions: [{ id: 'q', question: 'alpha?' }] } },
          { name: 'deliver', arguments: { text: 'alpha' } },
        ],
      },
      { text: 'Done.' },
    ],
    during: async (_model, runtime, uid) => {
      const [announced, delivered] = await openApprovals(runtime, uid, 2);
      const [question] = (await runtime.store.readState(uid)).questions;
      // A nudge without a decision, then the decisions in another order.
      if (announced === undefined || delivered === undefined || question === undefined)
        throw new Error('nothing is asked');
      await runtime.engine.tellDecision(uid, 1, { kind: 'approval', approvalId: announced });
      await decide(runtime, uid, delivered, { outcome: 'denied' });
      await answer(runtime, uid, question, [{ id: 'q', selected: [], text: 'alpha' }]);
      await decide(runtime, uid, announced);
    },
  },
  {
    name: 'expired-approval',
    asking: true,
    profile: { approvalExpiresMs: 500 },
    script: [{ calls: [{ name: 'deliver', arguments: { text: 'alpha' } }] }, { text: 'Done.' }],
  },
];

/** `--only NAME` records that kind alone: those of a release that stand are never recorded anew. */
const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } });
const folder = fileURLToPath(new URL(`./histories/${VERSION}/`, import.meta.url));
const quiet = () => undefined;
const home = mkdtempSync(join(tmpdir(), 'turnkeeper-record-'));
const engine = await startEmbeddedEngine({
  cli: (await findTemporalCli()).path,
  home,
  namespace: 'default',
  logger: { info: quiet, warn: quiet, error: console.error },
});
try {
  mkdirSync(folder, { recursive: true });
  for (const kind of KINDS.filter(({ name }) => values.only?.includes(name) ?? true)) await record(kind);
} finally {
  await engine.stop();
  rmSync(home, { recursive: true, force: true });
}

async function record({ name, script, asking, profile, during }: Kind): Promise<void> {
  const model = await ScriptedModelServer.start({ script });
  const runtime = await startTurnRuntime({
    temporalAddress: engine.address,
    modelUrl: model.url,
    ...(asking === true
      ? {
          tools: askingTools([]),
          profile: { permission: 'workspace-write', rules: ASK_RULES, ...profile },
        }
      : {}),
  });
  writeFileSync(join(runtime.workspace, 'a.txt'), 'alpha\n');
  const uid = await runtime.createSession();
  await runtime.prompt(uid, 'go');
  await during?.(model, runtime, uid);
  await runtime.ended(uid, 1);
  const handle = runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`);
  await handle.result();
  const history = await handle.fetchHistory();
  writeFileSync(join(folder, `${name}.json`), `${historyToJSON(history)}\n`);
  process.stdout.write(`${name}: ${String(history.events?.length ?? 0)} events\n`);
  await runtime.stop();
  await model.close();
}
