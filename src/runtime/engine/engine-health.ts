/**
 * Whether a Temporal server answers: its port, its namespace, and the service that keeps histories.
 */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';

const POLL_MS = 20;
const CALL_TIMEOUT_MS = 1000;
const GRPC_NOT_FOUND = 5;

export interface HealthOptions {
  readonly host: string;
  readonly port: number;
  readonly namespace: string;
  /** Ends the wait; the promise then resolves with false. */
  readonly signal: AbortSignal;
}

/** Waits until workflows can be started in the namespace; false where the signal ended the wait first. */
export async function waitUntilHealthy({ host, port, namespace, signal }: HealthOptions): Promise<boolean> {
  // A failed gRPC connection backs off for a second, so the port is watched first.
  while (!signal.aborted && !(await acceptsConnections(host, port))) await pause(signal);
  const address = `${host}:${String(port)}`;
  while (!signal.aborted) {
    if (await answers(address, namespace, signal)) return true;
    await pause(signal);
  }
  return false;
}

async function answers(address: string, namespace: string, signal: AbortSignal): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    const opened = await Connection.connect({ address, connectTimeout: CALL_TIMEOUT_MS });
    connection = opened;
    for (;;) {
      if (signal.aborted) return false;
      if (await opened.withDeadline(Date.now() + CALL_TIMEOUT_MS, () => isReady(opened, namespace)))
        return true;
      await pause(signal);
    }
  } catch {
    // The server went away, or is not there yet: the caller tries again until its signal says otherwise.
    return false;
  } finally {
    await connection?.close();
  }
}

/** The answer that a made-up workflow is not known comes from the history service, the last to be ready. */
async function isReady(connection: Connection, namespace: string): Promise<boolean> {
  try {
    await connection.workflowService.describeNamespace({ namespace });
  } catch {
    // Not created yet, or not ready: polled again.
    return false;
  }
  try {
    await connection.workflowService.describeWorkflowExecution({
      namespace,
      execution: { workflowId: 'turnkeeper/health' },
    });
    return true;
  } catch (error) {
    return (error as { code?: unknown }).code === GRPC_NOT_FOUND;
  }
}

function acceptsConnections(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CALL_TIMEOUT_MS });
    const settle = (accepted: boolean) => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once('connect', () => {
      settle(true);
    });
    socket.once('error', () => {
      settle(false);
    });
    socket.once('timeout', () => {
      settle(false);
    });
  });
}

async function pause(signal: AbortSignal): Promise<void> {
  try {
    await delay(POLL_MS, undefined, { signal });
  } catch {
    // Aborted: the caller looks at the signal.
  }
}
