/**
 * What Temporal keeps of a session's turns after they have ended: closed workflows, until they are deleted.
 *
 * Owns their deletion. They hold ids and numbers only, and Temporal drops them after the retention of its namespace
 * anyway; a deleted session takes them along at once.
 */
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { followUpWorkflowId } from '../contract/follow-up.js';
import { turnWorkflowId, type SessionUid } from '../contract/ids.js';
import { GRPC_STATUS, grpcStatusOf } from './grpc-status.js';

export interface TurnHistories {
  /**
   * Deletes the closed workflows of the session; false while there are some: they run still, or the engine, which takes
   * half a minute for it, has not deleted them yet.
   */
  forgetSession(uid: SessionUid): Promise<boolean>;
}

export interface TurnHistoriesOptions {
  readonly client: Client;
  readonly namespace: string;
  /** As of `createTemporalTurnEngine`. */
  readonly deployment: string;
  readonly logger: Logger;
}

export function createTurnHistories({
  client,
  namespace,
  deployment,
  logger,
}: TurnHistoriesOptions): TurnHistories {
  const deleteRun = async (workflowId: string, runId: string): Promise<void> => {
    try {
      await client.workflowService.deleteWorkflowExecution({
        namespace,
        workflowExecution: { workflowId, runId },
      });
    } catch (error) {
      // Lists lag behind: it is gone already.
      if (grpcStatusOf(error) !== GRPC_STATUS.notFound) throw error;
    }
  };
  return {
    forgetSession: async (uid) => {
      try {
        let isForgotten = true;
        for await (const { workflowId, runId, status } of client.workflow.list({
          query: workflowsOf(deployment, uid),
        })) {
          isForgotten = false;
          // One that runs finds that its session is gone, and ends.
          if (status.name !== 'RUNNING') await deleteRun(workflowId, runId);
        }
        return isForgotten;
      } catch (error) {
        const code = grpcStatusOf(error);
        if (code !== GRPC_STATUS.permissionDenied && code !== GRPC_STATUS.unimplemented) throw error;
        logger.warn(
          { err: error, uid },
          'the engine keeps the workflows of a deleted session for its own time',
        );
        return true;
      }
    },
  };
}

/** A visibility query. Neither part can hold a quote. */
function workflowsOf(deployment: string, uid: SessionUid): string {
  const turns = turnWorkflowId(deployment, uid, 0).replace(/0$/, '');
  const followUps = followUpWorkflowId(deployment, { uid, turn: 0, kind: 'title' }).replace(/0\/title$/, '');
  return `WorkflowId STARTS_WITH "${turns}" OR WorkflowId STARTS_WITH "${followUps}"`;
}
