/**
 * The names by which the engine knows the workers of this installation: they tell the host and the very process, so that
 * who holds the home's lock can say which of them are dead.
 */
import type { ProcessIdentity } from './home/process-identity.js';

/** The identity of the workers of a process; the engine shows it beside all that they have taken. */
export function workerIdentity(hostId: string, { pid, startTime }: ProcessIdentity): string {
  return `${hostPrefix(hostId)}${String(pid)}/${startTime}`;
}

/**
 * Whether the identity is of a worker of this host that is dead. The caller holds the home's lock, so each process of the
 * host but its own is; of other hosts, and of workers that are not ours, nothing is known.
 *
 * @param own the identity of the caller's workers.
 */
export function isDeadWorker(identity: string, hostId: string, own: string): boolean {
  return identity !== own && identity.startsWith(hostPrefix(hostId));
}

/** A host id has no slash, so none is the beginning of another. */
function hostPrefix(hostId: string): string {
  return `turnkeeper@${hostId}/`;
}
