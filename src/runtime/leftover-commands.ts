/**
 * Ends the commands that outlived a killed server of this home, before their turns go on.
 *
 * The caller holds the home's lock, so whoever started them is dead. Commands of other homes are left alone.
 */
import { sessionUidSchema } from '../contract/ids.js';
import type { SessionStore } from '../store/session-store.js';
import { commandMarkers, killMarkedProcesses } from '../tools/local/process-tree.js';

/** @returns how many processes there were. */
export async function endLeftoverCommands(store: SessionStore): Promise<number> {
  let ended = 0;
  for (const marker of commandMarkers()) {
    const uid = sessionUidSchema.safeParse(marker.split('/')[0]);
    if (!uid.success || (await store.findSessionByUid(uid.data)) === undefined) continue;
    ended += await killMarkedProcesses(marker);
  }
  return ended;
}
