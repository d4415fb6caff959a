import type { Client } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import type { ApprovalId, SessionUid } from '../../../src/contract/ids.js';
import { createTemporalTurnEngine } from '../../../src/runtime/temporal-turn-engine.js';

/** Answers as a Temporal server does whose workflow has had its 10,000 signals. */
function fullWorkflow(did: string[]): Client {
  const refusal = Object.assign(new Error('exceeded workflow execution limit for signal events'), {
    code: 3,
  });
  return {
    workflow: {
      getHandle: () => ({
        signal: () => Promise.reject(new Error('Failed to signal Workflow', { cause: refusal })),
        terminate: () => {
          did.push('terminated');
          return Promise.resolve();
        },
      }),
      start: () => {
        did.push('started');
        return Promise.resolve();
      },
    },
  } as unknown as Client;
}

describe('a decision that a workflow cannot be told any more, since it has had all the signals that it takes', () => {
  it('is read by a fresh run in its place', async () => {
    const did: string[] = [];
    const engine = createTemporalTurnEngine({
      client: fullWorkflow(did),
      deployment: '',
      policyOf: () => Promise.resolve({ heartbeatMs: 1, wallTimeMs: null, maxParallelToolCalls: 1 }),
      eager: false,
    });
    const ask = { kind: 'approval', approvalId: 'a' as ApprovalId } as const;
    await engine.tellDecision('u' as SessionUid, 1, ask);
    expect(did).toEqual(['terminated', 'started']);
  });
});
