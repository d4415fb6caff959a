/**
 * The engine's nudges over a Temporal client: starts and cancels the workflows of turns, and starts what follows them.
 *
 * Owns how these workflows are named and started. Facts are not carried: who is told reads them from the log.
 */
import { WorkflowNotFoundError, type Client, type WorkflowHandle } from '@temporalio/client';
import {
  AGENT_TURN_WORKFLOW,
  answerQuestionSignal,
  decideApprovalSignal,
  TURN_TASK_QUEUE,
  type AgentTurnInput,
  type TurnPolicy,
} from '../contract/agent-turn.js';
import { FOLLOW_UP_WORKFLOW, followUpWorkflowId } from '../contract/follow-up.js';
import { turnWorkflowId, type SessionUid } from '../contract/ids.js';
import { describeWorkflow } from './describe-workflow.js';
import { GRPC_STATUS, grpcStatusOf } from './grpc-status.js';
import type { TurnEngine } from '../contract/turn-engine.js';

/** A worker that dies inside a local activity costs this long; the default is 10 s. */
const WORKFLOW_TASK_TIMEOUT_MS = 2000;

export interface TemporalTurnEngineOptions {
  readonly client: Client;
  readonly deployment: string;
  /** What the workflow of this turn needs from the configuration. */
  readonly policyOf: (uid: SessionUid) => Promise<TurnPolicy>;
  /** Whether a worker of this process takes the workflow's first task together with its start. */
  readonly eager: boolean;
  /** Default `TURN_TASK_QUEUE`. */
  readonly taskQueue?: string;
}

export function createTemporalTurnEngine(options: TemporalTurnEngineOptions): TurnEngine {
  const { client, deployment, policyOf, eager } = options;
  const startTurn = async (uid: SessionUid, turn: number): Promise<void> => {
    const input: AgentTurnInput = { uid, turn, policy: await policyOf(uid) };
    await client.workflow.start(AGENT_TURN_WORKFLOW, {
      workflowId: turnWorkflowId(deployment, uid, turn),
      taskQueue: options.taskQueue ?? TURN_TASK_QUEUE,
      args: [input],
      // One that runs is left alone; one that is over while its turn is open is followed by a fresh run.
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      requestEagerStart: eager,
      staticSummary: `Turn ${String(turn)} of session ${uid}`,
      memo: { sessionUid: uid, turn },
    });
  };
  return {
    startTurn,
    tellDecision: async (uid, turn, ask) => {
      try {
        await tell(uid, turn, (handle) =>
          ask.kind === 'approval'
            ? handle.signal(decideApprovalSignal, { approvalId: ask.approvalId })
            : handle.signal(answerQuestionSignal, { questionId: ask.questionId }),
        );
      } catch (error) {
        if (grpcStatusOf(error) !== GRPC_STATUS.invalidArgument) throw error;
        // A run takes only so many signals. A fresh one goes on from the log, which has the answer.
        await tell(uid, turn, (handle) => handle.terminate('it takes no more signals; a fresh run goes on'));
        await startTurn(uid, turn);
      }
    },
    startFollowUp: async (ref) => {
      await client.workflow.start(FOLLOW_UP_WORKFLOW, {
        workflowId: followUpWorkflowId(deployment, ref),
        taskQueue: options.taskQueue ?? TURN_TASK_QUEUE,
        args: [ref],
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
        staticSummary: `${ref.kind} after turn ${String(ref.turn)} of session ${ref.uid}`,
        memo: { sessionUid: ref.uid, turn: ref.turn },
      });
    },
    cancelTurn: (uid, turn) => tell(uid, turn, (handle) => handle.cancel()),
    describeTurn: (uid, turn) => describeWorkflow(client, turnWorkflowId(deployment, uid, turn)),
  };

  /** A workflow that is over, or not started yet, is left alone: the first activity of its next run reads the log. */
  async function tell(
    uid: SessionUid,
    turn: number,
    what: (handle: WorkflowHandle) => Promise<unknown>,
  ): Promise<void> {
    try {
      await what(client.workflow.getHandle(turnWorkflowId(deployment, uid, turn)));
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
}
