import { describe, expect, it } from 'vitest';
import { SessionFeed } from '../../src/api/follow/session-feed.js';
import type { SessionUid } from '../../src/contract/ids.js';
import { INITIAL_STATE } from '../../src/core/session-state.js';
import { StoreError } from '../../src/store/session-store.js';

describe('the feed of a session', () => {
  it('asks for the state again where it could not be read', async () => {
    const answers = [
      Promise.reject(new StoreError('STORE_UNAVAILABLE', 'gone')),
      Promise.resolve(INITIAL_STATE),
    ];
    const feed = new SessionFeed(
      {
        watch: () => () => undefined,
        readTail: () => Promise.reject(new Error('Nobody reads the log here.')),
        readState: () => answers.shift() ?? Promise.reject(new Error('It was read already.')),
      },
      'u' as SessionUid,
    );
    // Both who ask at once are told of the same failure, and whoever comes after it is not.
    const refused = [feed.state(), feed.state()];
    await expect(refused[0]).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(refused[1]).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await feed.state()).toBe(INITIAL_STATE);
    expect(await feed.state()).toBe(INITIAL_STATE);
  });
});
