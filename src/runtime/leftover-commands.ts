/**
 * Ends the commands that outlived a killed server of this home, before their turns go on.
 *
 * Commands of other homes are left alone, and so are those of a server that lives: a home may be a copy of another one.
 */
import { sessionUidSchema } from '../contract/ids.js';
import type { SessionStore } from '../store/session-store.js';
import { endOrphanedCommand, orphanedCommands } from '../tools/local/process-tree.js';

/** @returns how many processes there were. */
export async function endLeftoverCommands(store: SessionStore): Promise<number> {
  let ended = 0;
  for (const marker of orphanedCommands()) {
    const uid = sessionUidSchema.safeParse(marker.split('/')[0]);
    if (!uid.success || (await store.findSessionByUid(uid.data)) === undefined) continue;
    ended += await endOrphanedCommand(marker);
  }
  return ended;
}
