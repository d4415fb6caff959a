/**
 * The output of a turn as a value: what the model is told of the schema, how its last message is read, and what comes of
 * one that does not fit.
 *
 * Owns the words and the number of corrections. That the turn goes on or ends by them is decided in `advance`.
 */
import { isTooDeep, type JsonValue } from '../contract/json.js';
import type { TurnEndReason } from '../contract/turn-end.js';
import { OUTPUT_SCHEMA_SOURCE, type JsonSchema, type OpenTurn } from '../core/session-state.js';
import type { AddedMessage } from '../core/turn-progress.js';
import { schemaViolations } from './output-schema.js';

/** How often a turn goes on so that the model corrects its answer. */
const MAX_CORRECTIONS = 2;

/** What a turn's last message amounts to, where the turn has an output schema. */
export type OutputVerdict =
  | { readonly kind: 'fits'; readonly structured: JsonValue }
  | { readonly kind: 'correct'; readonly message: AddedMessage }
  | { readonly kind: 'refused'; readonly reason: TurnEndReason };

/** What the model is told before its first answer. */
export function schemaMessage(schema: JsonSchema): AddedMessage {
  return told(
    'Your last message in this turn is read by a program. It must be one JSON value that fits the JSON Schema below, ' +
      'and nothing else: no words around it. A fenced code block is accepted.\n\n' +
      JSON.stringify(schema),
  );
}

/** Judges the text of the message that would end the turn. */
export function judgeOutput(
  { schema, told: times }: NonNullable<OpenTurn['outputSchema']>,
  output: string,
): OutputVerdict {
  const found = jsonIn(output);
  const violations = found === undefined ? ['it is no JSON value'] : schemaViolations(schema, found.value);
  if (found !== undefined && violations.length === 0) return { kind: 'fits', structured: found.value };
  if (times > MAX_CORRECTIONS) {
    return {
      kind: 'refused',
      reason: {
        kind: 'error',
        code: 'OUTPUT_SCHEMA_MISMATCH',
        message: `The model's last message does not fit the output schema: ${violations.join('; ')}.`.slice(
          0,
          2000,
        ),
      },
    };
  }
  const list = violations.map((violation) => `- ${violation}`).join('\n');
  return {
    kind: 'correct',
    message: told(
      `Your last message does not fit the JSON Schema:\n${list}\n\nAnswer again with the corrected JSON value only.`,
    ),
  };
}

/** The JSON value that the text is, or that its last fenced block holds. */
function jsonIn(text: string): { readonly value: JsonValue } | undefined {
  const fenced = [...text.matchAll(/^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```[ \t]*$/gms)].at(-1)?.[1];
  for (const candidate of [text, fenced]) {
    if (candidate === undefined) continue;
    try {
      const value = JSON.parse(candidate) as JsonValue;
      // Too deep to be walked is as good as none.
      return isTooDeep(value) ? undefined : { value };
    } catch {
      // No JSON: the next candidate, or none.
    }
  }
  return undefined;
}

function told(text: string): AddedMessage {
  return { content: [{ type: 'text', text }], source: { kind: 'hook', name: OUTPUT_SCHEMA_SOURCE } };
}
