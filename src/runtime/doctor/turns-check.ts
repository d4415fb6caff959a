/** Says of each open turn what it waits for. */
import { existsSync } from 'node:fs';
import { Client, Connection } from '@temporalio/client';
import { turnWorkflowId } from '../../contract/ids.js';
import { describeWorkflow } from '../describe-workflow.js';
import { storeLocation } from '../configuration/store-location.js';
import { readLiveServer } from '../home/home-lock.js';
import { checkSession } from '../../store/repair/check-session.js';
import { ok, warning, type Check, type CheckContext, type Finding } from './check.js';
import { engineAddress } from './engine-check.js';
import { explainTurn, type Explanation, type KnownCondition } from './explain-turn.js';
import { withLogDatabase } from './log-database.js';

/** More are counted and not named. */
const MAX_NAMED = 50;
const CALL_TIMEOUT_MS = 3000;

/** @param sessionId looks at this session's turn alone. */
export function turnsCheck(sessionId?: string): Check {
  return { name: 'turns', run: (context) => explainTurns(context, sessionId) };
}

async function explainTurns({ configuration }: CheckContext, sessionId?: string): Promise<Finding> {
  const { file } = storeLocation(configuration);
  if (!existsSync(file)) return ok('There are no turns yet.');
  const isServed = readLiveServer(configuration.home) !== undefined;
  const engine = await askEngine(engineAddress(configuration), configuration.engine);
  try {
    return await withLogDatabase(file, { readonly: true }, async (log) => {
      let query = log.selectFrom('sessions').selectAll().where('open_turn', 'is not', null);
      if (sessionId !== undefined) query = query.where('id', '=', sessionId as never);
      const sessions = await query.orderBy('updated_at').execute();
      if (sessions.length === 0) return ok('No turn is open.');
      const lines: string[] = [];
      let hasStuck = false;
      for (const session of sessions.slice(0, MAX_NAMED)) {
        const { state } = await checkSession(log, session);
        const turn = session.open_turn ?? 0;
        const condition = await engine.conditionOf(
          turnWorkflowId(configuration.engine.deployment, session.uid, turn),
        );
        const explanation: Explanation = explainTurn({
          state,
          condition,
          updatedAt: session.updated_at,
          isServed,
          now: Date.now(),
        });
        hasStuck ||= explanation.kind === 'stuck';
        lines.push(`${session.id}, turn ${String(turn)} ${explanation.text}.`);
      }
      const more = sessions.length - lines.length;
      if (more > 0) lines.push(`And ${String(more)} more.`);
      const count =
        sessions.length === 1 ? 'One turn is open.' : `${String(sessions.length)} turns are open.`;
      return (hasStuck ? warning : ok)([count, ...lines].join('\n'));
    });
  } finally {
    await engine.close();
  }
}

interface AskedEngine {
  /** Null where the engine does not answer. */
  conditionOf(workflowId: string): Promise<KnownCondition>;
  close(): Promise<void>;
}

async function askEngine(
  address: string | undefined,
  { namespace }: { readonly namespace: string },
): Promise<AskedEngine> {
  const connection =
    address === undefined
      ? undefined
      : await Connection.connect({ address, connectTimeout: CALL_TIMEOUT_MS }).catch(() => undefined);
  const client = connection === undefined ? undefined : new Client({ connection, namespace });
  return {
    // What the engine says is left out where it does not say it.
    conditionOf: async (workflowId) =>
      client === undefined ? null : describeWorkflow(client, workflowId).catch(() => null),
    close: async () => connection?.close(),
  };
}
