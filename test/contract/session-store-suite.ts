/**
 * What every backend of the session log promises (`src/store/session-store.ts`), as one suite that each must pass.
 *
 * Owns no backend: a test file opens one and hands it in.
 */
import { describe } from 'vitest';
import { describeAdmission } from './session-store/admission-suite.js';
import { describeArchive } from './session-store/archive-suite.js';
import { describeAppends } from './session-store/append-suite.js';
import { describeAsks } from './session-store/ask-suite.js';
import { describeAttempts } from './session-store/attempt-suite.js';
import { describeContent } from './session-store/content-suite.js';
import { describeFrames } from './session-store/frame-suite.js';
import { describeKeys } from './session-store/key-suite.js';
import { describeNotices } from './session-store/notice-suite.js';
import { describeQueue } from './session-store/queue-suite.js';
import { describeFollowUps } from './session-store/follow-up-suite.js';
import { describeRetention } from './session-store/retention-suite.js';
import { describeSessions } from './session-store/session-suite.js';
import { describeTurnLists } from './session-store/turn-list-suite.js';
import type { OpenStore } from './session-store/store-fixture.js';

export type { OpenStore, StoreUnderTest } from './session-store/store-fixture.js';

/** @param open makes a store that is empty, or that no other test sees into. */
export function describeSessionStore(name: string, open: OpenStore): void {
  describe(name, () => {
    describeAppends(open);
    describeContent(open);
    describeNotices(open);
    describeAdmission(open);
    describeQueue(open);
    describeAttempts(open);
    describeFrames(open);
    describeAsks(open);
    describeSessions(open);
    describeRetention(open);
    describeArchive(open);
    describeFollowUps(open);
    describeTurnLists(open);
    describeKeys(open);
  });
}
