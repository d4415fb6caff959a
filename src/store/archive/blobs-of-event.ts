/** Which blobs an event cannot be read without. */
import { blobBlockSchema, type BlobBlock, type InputBlock } from '../../contract/content.js';
import type { SessionEvent } from '../../contract/events.js';
import type { Sha256 } from '../../contract/ids.js';
import type { JsonValue } from '../../contract/json.js';

type Content = readonly (InputBlock | { readonly type: 'reasoning' } | CallBlock)[];
interface CallBlock {
  readonly type: 'tool-call';
  readonly arguments: string | BlobBlock;
}

/** The digests of the blobs that stand for parts of the event, and of the tools that a request offered. */
export function blobsOfEvent(event: SessionEvent): readonly Sha256[] {
  switch (event.type) {
    case 'agent/inbox/spliced':
      return (event.data.inserted ?? []).flatMap(({ content }) => ofContent(content));
    case 'user/message':
    case 'assistant/message':
    case 'tool/result':
      return ofContent(event.data.content);
    case 'tool/call':
    case 'approval/asked':
      return ofString(event.data.arguments);
    case 'turn/end':
      return [...ofString(event.data.output), ...ofValue(event.data.structured)];
    case 'request/header':
      return event.data.tools.map(({ sha256 }) => sha256);
    default:
      return [];
  }
}

function ofContent(content: Content): Sha256[] {
  return content.flatMap((block) => {
    switch (block.type) {
      case 'blob':
        return [block.sha256];
      case 'image':
      case 'file':
        return [block.blob];
      case 'tool-call':
        return ofString(block.arguments);
      default:
        return [];
    }
  });
}

/** Of a value that may have been moved to the blob store as a whole. */
function ofValue(value: JsonValue | undefined): Sha256[] {
  const block = blobBlockSchema.safeParse(value);
  return block.success ? [block.data.sha256] : [];
}

function ofString(value: string | BlobBlock | undefined): Sha256[] {
  return typeof value === 'object' ? [value.sha256] : [];
}
