/** Says of each open turn what it waits for. */
import { existsSync } from 'node:fs';
import { Client, Connection } from '@temporalio/client';
import type { Kysely, Selectable } from 'kysely';
import type { EventData } from '../../contract/events.js';
import { turnWorkflowId, type SessionId } from '../../contract/ids.js';
import type { WorkflowCondition } from '../../contract/turn-engine.js';
import { readLog } from '../../store/repair/check-session.js';
import type { LogTables, SessionsTable } from '../../store/sql/schema.js';
import { storeLocation } from '../configuration/store-location.js';
import { describeWorkflow } from '../describe-workflow.js';
import { readLiveServer } from '../home/home-lock.js';
import { ok, problem, warning, type Check, type CheckContext, type Finding } from './check.js';
import { engineAddress } from './engine-check.js';
import { explainTurn, type TurnToExplain } from './explain-turn.js';
import { schemaAge, withLog } from './log-database.js';

/** More are counted and not named. */
const MAX_NAMED = 50;
const CALL_TIMEOUT_MS = 3000;

/** @param sessionId looks at this session's turn alone. */
export function turnsCheck(sessionId?: string): Check {
  return { name: 'turns', run: (context) => explainTurns(context, sessionId as SessionId | undefined) };
}

async function explainTurns({ configuration }: CheckContext, sessionId?: SessionId): Promise<Finding> {
  const { file } = storeLocation(configuration);
  if (!existsSync(file)) return ok('There are no turns yet.');
  const isServed = readLiveServer(configuration.home) !== undefined;
  const engine = await askEngine(engineAddress(configuration), configuration.engine);
  try {
    return await withLog(file, async (log) => {
      if ((await schemaAge(log)) !== 'current') return ok('Another version made the tables of the log.');
      const sessions = await openSessions(log, sessionId);
      if (sessions === 'no such session') return problem(`There is no session ${sessionId ?? ''}.`);
      if (sessions.length === 0) return ok('No turn is open.');
      const lines: string[] = [];
      let hasStuck = false;
      for (const session of sessions.slice(0, MAX_NAMED)) {
        const turn = session.open_turn ?? 0;
        const { kind, text } = explainTurn({
          ...(await factsOf(log, session)),
          condition: await engine.conditionOf(
            turnWorkflowId(configuration.engine.deployment, session.uid, turn),
          ),
          isServed,
          now: Date.now(),
        });
        hasStuck ||= kind === 'stuck';
        lines.push(`${session.id}, turn ${String(turn)} ${text}.`);
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

type SessionRow = Selectable<SessionsTable>;

/** The sessions that have an open turn, those first whose logs have not grown for longest. */
async function openSessions(
  log: Kysely<LogTables>,
  id: SessionId | undefined,
): Promise<readonly SessionRow[] | 'no such session'> {
  let query = log.selectFrom('sessions').selectAll();
  query = id === undefined ? query.where('open_turn', 'is not', null) : query.where('id', '=', id);
  const rows = await query.orderBy('updated_at').execute();
  if (id !== undefined && rows.length === 0) return 'no such session';
  return rows.filter((row) => row.open_turn !== null);
}

/** What the log says of its open turn, at one moment. */
async function factsOf(
  log: Kysely<LogTables>,
  { uid, ...listed }: SessionRow,
): Promise<Pick<TurnToExplain, 'state' | 'damage' | 'receipts' | 'updatedAt'>> {
  return log.transaction().execute(async (db) => {
    const row = await db.selectFrom('sessions').selectAll().where('uid', '=', uid).executeTakeFirst();
    const session = row ?? { uid, ...listed };
    let receipts: EventData<'tool/started'>[] = [];
    const { state, damage } = await readLog(db, session, (event) => {
      if (event.type === 'step/start') receipts = [];
      if (event.type === 'tool/started') receipts.push(event.data);
      return undefined;
    });
    return { state, damage: damage?.reason ?? null, receipts, updatedAt: session.updated_at };
  });
}

interface AskedEngine {
  /** Null where the engine does not answer. */
  conditionOf(workflowId: string): Promise<WorkflowCondition | null>;
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
    conditionOf: async (workflowId) =>
      connection === undefined || client === undefined
        ? null
        : connection
            .withDeadline(Date.now() + CALL_TIMEOUT_MS, () => describeWorkflow(client, workflowId))
            // What the engine says is left out where it does not say it.
            .catch(() => null),
    close: async () => connection?.close(),
  };
}
