/** The exact body of a request, of any wire: to send it, or to print that of a past step from the log. */
import type { Wire } from '../contract/events.js';
import { assertNever } from '../contract/failures.js';
import type { ModelRequest } from '../contract/messages.js';
import { serializeChatCompletions } from './chat-completions/serialize.js';
import { serializeMessages } from './messages/serialize.js';
import type { AdapterDefaults, ReadBlob } from './model-adapter.js';
import { wellFormedJson } from './prepared-messages.js';

export interface RequestHeader {
  readonly wire: Wire;
  readonly adapterDefaults: AdapterDefaults;
}

/** The JSON body; the same arguments give the same bytes. @throws what `readBlob` throws. */
export async function serializeRequest(
  header: RequestHeader,
  request: ModelRequest,
  readBlob: ReadBlob,
): Promise<string> {
  switch (header.wire) {
    case 'chat-completions':
      return serializeChatCompletions(request, header.adapterDefaults, readBlob);
    case 'messages':
      return serializeMessages(request, header.adapterDefaults, readBlob);
    case 'demo':
      // The demo provider has no wire of its own; it reads the conversation as it is.
      return wellFormedJson({ system: request.system, messages: request.messages, tools: request.tools });
    default:
      return assertNever(header.wire);
  }
}
