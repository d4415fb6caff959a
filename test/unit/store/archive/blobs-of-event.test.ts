import { describe, expect, it } from 'vitest';
import { digestOf } from '../../../../src/store/digest.js';
import type { NewEvent, SessionEvent } from '../../../../src/contract/events.js';
import { blobsOfEvent } from '../../../../src/store/archive/blobs-of-event.js';
import { moveLargeContent } from '../../../../src/store/large-content.js';
import { EVENT_SAMPLES } from '../../contract/event-samples.js';

const large = (name: string): string => name.repeat(70_000);
const text = (name: string) => ({ type: 'text', text: large(name) });
const call = (name: string) => ({ type: 'tool-call', callId: name, name: 'bash', arguments: large(name) });

/** Events with large content in each place that may have it, over a whole one of their type. */
const LARGE: Partial<Record<SessionEvent['type'], Record<string, unknown>>> = {
  'agent/inbox/spliced': {
    inserted: [{ itemId: 'i', requestId: 'r', content: [text('a'), text('b')], source: { kind: 'user' } }],
  },
  'user/message': { content: [text('c')] },
  'assistant/message': { content: [text('d'), call('e')] },
  'tool/result': { content: [text('f')] },
  'tool/call': { arguments: large('g') },
  'approval/asked': { arguments: large('h') },
  'turn/end': { output: large('i'), structured: { value: large('j') } },
};

describe('the blobs that an event cannot be read without', () => {
  it.each(Object.entries(LARGE))('are all that large content of %s was moved to', async (type, changes) => {
    const sample = EVENT_SAMPLES[type as SessionEvent['type']];
    const moved: string[] = [];
    const event = await moveLargeContent(
      { type, data: { ...sample, ...changes } } as unknown as NewEvent,
      (bytes) => {
        const sha256 = digestOf(bytes);
        moved.push(sha256);
        return Promise.resolve(sha256);
      },
    );
    expect(moved.length).toBeGreaterThan(0);
    expect([...blobsOfEvent(event as SessionEvent)].sort()).toEqual(moved.sort());
  });
});
