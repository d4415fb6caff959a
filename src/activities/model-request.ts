/** The request of a step, derived from its log: the same to send it and to make it again later. */
import type { EventData } from '../contract/events.js';
import type { Sha256 } from '../contract/ids.js';
import type { Conversation, ModelRequest, ToolDefinition } from '../contract/messages.js';
import { textOfBlob } from '../store/large-content.js';

/** @throws what `readBlob` throws. */
export async function modelRequest(
  header: Pick<EventData<'request/header'>, 'model' | 'parameters' | 'tools'>,
  { system, messages }: Conversation,
  readBlob: (sha256: Sha256) => Promise<Uint8Array>,
): Promise<ModelRequest> {
  const tools: ToolDefinition[] = [];
  for (const { sha256 } of header.tools) {
    // The definition that was offered, also where the tool has changed since.
    tools.push(JSON.parse(textOfBlob(await readBlob(sha256))) as ToolDefinition);
  }
  return { model: header.model, parameters: header.parameters, tools, system, messages };
}
