/** A session whose open turn has asked: its step has a message with calls, and a person is asked about each of them. */
import { v7 as uuidv7 } from 'uuid';
import { eventKeys } from '../../src/contract/event-keys.js';
import type { EventData, Question } from '../../src/contract/events.js';
import type { ApprovalId, QuestionId, SessionUid } from '../../src/contract/ids.js';
import { withdrawAsks } from '../../src/core/asks.js';
import type { SessionStore } from '../../src/store/session-store.js';
import { SOME_SHA256 } from '../support/log-builder.js';
import { call, newSession, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

export class AskedTurn {
  private constructor(
    readonly uid: SessionUid,
    readonly driver: TurnDriver,
    readonly turn: number,
    private readonly store: SessionStore,
  ) {}

  /** Prompts a new session and takes its turn to a message with `calls` calls of `bash`. */
  static async start(api: ApiServer, id: string, calls = 1): Promise<AskedTurn> {
    await newSession(api, { id });
    await call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { text: 'go' });
    return AskedTurn.enter(api.store, await api.uidOf(id), calls);
  }

  /** Takes the open turn of a session to a message with `calls` calls of `bash`. */
  static async enter(store: SessionStore, uid: SessionUid, calls = 1): Promise<AskedTurn> {
    const driver = new TurnDriver(store, uid);
    const turn = await driver.enter();
    await driver.attempt();
    await driver.message('', Array<string>(calls).fill('bash'));
    return new AskedTurn(uid, driver, turn, store);
  }

  /** Asks for an approval of the call. */
  async ask(index: number, changes: Partial<EventData<'approval/asked'>> = {}): Promise<ApprovalId> {
    const approvalId = uuidv7() as ApprovalId;
    await this.driver.append([
      {
        type: 'approval/asked',
        key: eventKeys.approvalAsked(this.turn, 1, index),
        turn: this.turn,
        step: 1,
        data: {
          approvalId,
          callId: this.driver.callId(index),
          tool: 'bash',
          arguments: JSON.stringify({ command: `run ${String(index)}` }),
          argumentsSha256: SOME_SHA256,
          reason: 'Shell commands need approval.',
          preview: { kind: 'command', text: `run ${String(index)}` },
          ...changes,
        },
      },
    ]);
    return approvalId;
  }

  /** Asks for an approval of each of the first `count` calls. */
  async askAll(count: number): Promise<ApprovalId[]> {
    const ids: ApprovalId[] = [];
    for (let index = 0; index < count; index += 1) ids.push(await this.ask(index));
    return ids;
  }

  /** Asks questions by the call. */
  async askQuestion(index: number, questions: readonly Question[], expiresAt?: string): Promise<QuestionId> {
    const questionId = uuidv7() as QuestionId;
    await this.driver.append([
      {
        type: 'question/asked',
        key: eventKeys.questionAsked(this.turn, 1, index),
        turn: this.turn,
        step: 1,
        data: {
          questionId,
          callId: this.driver.callId(index),
          questions: [...questions],
          ...(expiresAt === undefined ? {} : { expiresAt }),
        },
      },
    ]);
    return questionId;
  }

  /** Closes an approval as the turn does it by itself. */
  async close(approvalId: ApprovalId, outcome: 'withdrawn' | 'unavailable'): Promise<void> {
    await this.driver.append([
      {
        type: 'approval/decided',
        key: eventKeys.approvalDecided(approvalId),
        turn: this.turn,
        step: 1,
        data: { approvalId, outcome, by: 'turnkeeper' },
      },
    ]);
  }

  /** Withdraws what is open and ends the turn, as whatever ends a turn does it. */
  async end(): Promise<void> {
    await this.store.transact(this.uid, async (transaction) => {
      await transaction.append(withdrawAsks(transaction.state));
    });
    await this.driver.end();
  }
}
