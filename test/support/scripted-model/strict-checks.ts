/**
 * What real providers refuse, as checks over a request of either wire.
 *
 * Each check throws a {@link Refusal}, whose message becomes the 400's. Stricter than any one provider where they differ.
 */
import type { ScriptedWire } from './replies.js';

/** A request that the scripted server answers with 400. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

export interface StrictOptions {
  /** Requires reasoning before calls to come back, as DeepSeek does while it thinks. */
  readonly thinking?: boolean;
}

export type Fields = Readonly<Record<string, unknown>>;

const NAME = /^[A-Za-z0-9_-]{1,128}$/;
const CALL_ID = /^[A-Za-z0-9_-]{1,64}$/;

export function refuse(condition: boolean, message: string): void {
  if (condition) throw new Refusal(message);
}

export function fields(value: unknown, place: string): Fields {
  refuse(typeof value !== 'object' || value === null || Array.isArray(value), `${place} must be an object`);
  return value as Fields;
}

export function list(value: unknown, place: string): readonly unknown[] {
  refuse(!Array.isArray(value) || value.length === 0, `${place} must be a list that is not empty`);
  return value as readonly unknown[];
}

export function text(value: unknown, place: string): string {
  refuse(typeof value !== 'string' || value.trim() === '', `${place} must be a text that is not blank`);
  return value as string;
}

export function onlyKeys(value: Fields, allowed: readonly string[], place: string): void {
  for (const [key, part] of Object.entries(value)) {
    refuse(!allowed.includes(key), `${place} has the unknown field ${key}`);
    refuse(part === null, `${place}.${key} must not be null`);
  }
}

/** The name of a tool; in the history too, since providers check it there. */
export function toolName(value: unknown, place: string): string {
  const name = text(value, place);
  refuse(!NAME.test(name), `${place} is not a name that a tool can have`);
  return name;
}

/** Keeps count of calls and their results over a whole conversation. */
export class CallLedger {
  readonly #seen = new Set<string>();
  #open = new Set<string>();

  call(id: unknown, place: string): void {
    const callId = text(id, place);
    refuse(!CALL_ID.test(callId), `${place} is not an id that a call can have`);
    refuse(this.#seen.has(callId), `${place} repeats the call id ${callId}`);
    this.#seen.add(callId);
    this.#open.add(callId);
  }

  result(id: unknown, place: string): void {
    const callId = text(id, place);
    refuse(!this.#open.delete(callId), `${place} is a result without a call right before it`);
  }

  /** To be asked where no more results can follow. */
  settled(place: string): void {
    const missing = [...this.#open];
    this.#open = new Set();
    refuse(missing.length > 0, `${place}: the calls ${missing.join(', ')} have no result right after them`);
  }
}

/** Checks what both wires have: model, sampling and the rest of the top level. */
export function checkTopLevel(body: Fields, wire: ScriptedWire): void {
  const common = ['model', 'messages', 'stream', 'tools', 'temperature', 'max_tokens', 'thinking'];
  const own =
    wire === 'chat-completions'
      ? ['stream_options', 'stop', 'reasoning_effort']
      : ['system', 'stop_sequences', 'output_config'];
  onlyKeys(body, [...common, ...own], 'body');
  text(body['model'], 'model');
  refuse(body['stream'] !== true, 'stream must be true');
  const { temperature, thinking } = body;
  const highest = wire === 'chat-completions' ? 2 : 1;
  refuse(
    temperature !== undefined &&
      (typeof temperature !== 'number' || temperature < 0 || temperature > highest),
    'temperature is out of range',
  );
  const maxTokens = body['max_tokens'];
  refuse(maxTokens === undefined && wire === 'messages', 'max_tokens is required');
  refuse(maxTokens !== undefined && !isPositiveInteger(maxTokens), 'max_tokens must be a positive integer');
  if (thinking !== undefined) {
    const { type, budget_tokens: budget } = fields(thinking, 'thinking');
    refuse(type !== 'enabled' && type !== 'disabled', 'thinking.type is unknown');
    refuse(
      budget !== undefined && (!isPositiveInteger(budget) || budget < 1024),
      'thinking.budget_tokens is too small',
    );
    refuse(
      isPositiveInteger(budget) && isPositiveInteger(maxTokens) && budget >= maxTokens,
      'max_tokens must be greater than thinking.budget_tokens',
    );
    refuse(
      wire === 'messages' && type === 'enabled' && temperature !== undefined,
      'temperature goes not with thinking',
    );
  }
  const stop = body['stop'] ?? body['stop_sequences'];
  if (stop !== undefined) list(stop, 'stop').forEach((entry, place) => text(entry, `stop.${String(place)}`));
}

/** Checks a tool's name, description and schema, and that no name comes twice. */
export function checkTools(tools: readonly Fields[], schemaKey: string): void {
  const names = tools.map((tool, place) => {
    const at = `tools.${String(place)}`;
    onlyKeys(tool, ['name', 'description', schemaKey], at);
    refuse(typeof tool['description'] !== 'string', `${at}.description must be a text`);
    refuse(
      fields(tool[schemaKey], `${at}.${schemaKey}`)['type'] !== 'object',
      `${at}.${schemaKey} must be of type object`,
    );
    return toolName(tool['name'], `${at}.name`);
  });
  refuse(new Set(names).size !== names.length, 'tools: a name comes twice');
}

/** Providers' JSON readers refuse text that is no Unicode. */
export function checkUnicode(raw: string): void {
  JSON.parse(raw, (_key, value: unknown) => {
    refuse(typeof value === 'string' && /\p{Surrogate}/u.test(value), 'the body holds a lone surrogate');
    return value;
  });
}

function isPositiveInteger(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0;
}
