/** Messages as they are derived from the log: what a model is shown, before a wire spells it. */
import type { AssistantBlock, InputBlock, ToolResultBlock } from './content.js';
import type { ModelParameters } from './events.js';
import type { Sha256 } from './ids.js';

/** A message; `seq` is the log event that made it. Tool results are user messages with `tool-result` blocks. */
export type Message =
  | {
      readonly seq: number;
      readonly role: 'user';
      readonly content: readonly (InputBlock | ToolResultBlock)[];
    }
  | { readonly seq: number; readonly role: 'assistant'; readonly content: readonly AssistantBlock[] };

/** What the log says to a model: the system text ('' where there is none) beside the messages in their order. */
export interface Conversation {
  readonly system: string;
  readonly messages: readonly Message[];
}

/** A tool as the model sees it. `parameters` is a JSON Schema object. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A tool definition with the digest of its canonical JSON, which names it in `request/header`. */
export interface OfferedTool extends ToolDefinition {
  readonly sha256: Sha256;
}

/** A model request, free of any wire: the three channels and how to sample. */
export interface ModelRequest extends Conversation {
  readonly model: string;
  readonly tools: readonly ToolDefinition[];
  readonly parameters: ModelParameters;
}
