/**
 * The messages of a request, made ready for a wire: blobs read, and all that a provider would refuse put right.
 *
 * Owns what both wires share: moved texts come back, unusable ids, names and arguments get their stand-ins, and what a
 * model cannot take becomes a line of text. The result depends on the inputs only, so that a request keeps its bytes.
 */
import { createHash } from 'node:crypto';
import type { AssistantBlock, BlobBlock, InputBlock, ToolResultBlock } from '../contract/content.js';
import { assertNever } from '../contract/failures.js';
import type { Message } from '../contract/messages.js';
import { showingOf } from '../core/media.js';
import type { ReadBlob } from './model-adapter.js';

/** What a model takes beside text. */
export interface MediaAbilities {
  readonly images: boolean;
  readonly files: boolean;
}

export type PreparedInput =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly mediaType: string; readonly base64: string }
  | { readonly type: 'document'; readonly name: string; readonly mediaType: string; readonly base64: string };

/** `content` is empty where the tool gave nothing. */
export interface PreparedResult {
  readonly callId: string;
  readonly content: readonly PreparedInput[];
  readonly isError: boolean;
}

export type PreparedBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string; readonly replay?: string }
  | {
      readonly type: 'tool-call';
      readonly callId: string;
      readonly name: string;
      /** JSON of an object; `{}` in the place of what is none. */
      readonly arguments: string;
    };

/**
 * `user` stands for a run of user messages: all of their results, then what each of them says. Messages and runs that
 * say nothing are left out.
 */
export type PreparedMessage =
  | {
      readonly role: 'user';
      readonly results: readonly PreparedResult[];
      readonly messages: readonly (readonly PreparedInput[])[];
    }
  | { readonly role: 'assistant'; readonly blocks: readonly PreparedBlock[] };

const MAX_NAME_CHARACTERS = 128;

/** @throws what `readBlob` throws. */
export async function prepareMessages(
  messages: readonly Message[],
  abilities: MediaAbilities,
  readBlob: ReadBlob,
): Promise<PreparedMessage[]> {
  const prepared: PreparedMessage[] = [];
  for (const message of messages) {
    const part = plainParts.get(message) ?? (await prepareMessage(message, abilities, readBlob));
    if (part === undefined) continue;
    const last = prepared.at(-1);
    if (part.role === 'assistant' || last?.role !== 'user') prepared.push(part);
    else {
      // Results have to follow their calls at once, whatever else was said in between.
      prepared[prepared.length - 1] = {
        role: 'user',
        results: [...last.results, ...part.results],
        messages: [...last.messages, ...part.messages],
      };
    }
  }
  return prepared;
}

/**
 * What messages of nothing but text were prepared to, for as long as they live: they never change, and a long turn
 * prepares the same ones at each step. Media is not kept, nor what depends on the model's abilities.
 */
const plainParts = new WeakMap<Message, PreparedMessage>();

/** The message alone; undefined where it says nothing. */
async function prepareMessage(
  message: Message,
  abilities: MediaAbilities,
  readBlob: ReadBlob,
): Promise<PreparedMessage | undefined> {
  let part: PreparedMessage | undefined;
  if (message.role === 'assistant') {
    const blocks = await Promise.all(message.content.map((block) => assistantBlock(block, readBlob)));
    if (blocks.some(saysSomething)) part = { role: 'assistant', blocks: blocks.filter(isNotBlank) };
  } else {
    const results: PreparedResult[] = [];
    const content: PreparedInput[] = [];
    for (const block of message.content) {
      if (block.type === 'tool-result') results.push(await toolResult(block, abilities, readBlob));
      else content.push(...(await inputs([block], abilities, readBlob)));
    }
    if (results.length > 0 || content.length > 0) {
      part = { role: 'user', results, messages: content.length === 0 ? [] : [content] };
    }
  }
  if (part !== undefined && isPlain(message)) plainParts.set(message, part);
  return part;
}

function isPlain({ content }: Message): boolean {
  return content.every((block) =>
    block.type === 'tool-result'
      ? block.content.every((part) => part.type === 'text')
      : block.type === 'tool-call'
        ? typeof block.arguments === 'string'
        : block.type === 'text' || block.type === 'reasoning',
  );
}

/** The text of prepared input; images and documents are not part of it. */
export function textOf(content: readonly PreparedInput[], separator: string): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(separator);
}

/** The arguments as a provider takes them back: unchanged where they are the JSON of an object, else `{}`. */
export function objectArguments(raw: string): string {
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? raw : '{}';
  } catch {
    // Cut or broken arguments; the call's result says so to the model.
    return '{}';
  }
}

/**
 * JSON with only well-formed text in it: a lone surrogate, which providers refuse, becomes U+FFFD.
 */
export function wellFormedJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!/\\ud[89a-f]/.test(json)) return json;
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.replace(/\p{Surrogate}/gu, '\uFFFD') : part,
  );
}

async function assistantBlock(block: AssistantBlock, readBlob: ReadBlob): Promise<PreparedBlock> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'blob':
      return { type: 'text', text: await blobText(block, readBlob) };
    case 'reasoning':
      return {
        type: 'reasoning',
        text: block.text,
        ...(block.replay === undefined ? {} : { replay: block.replay }),
      };
    case 'tool-call': {
      const raw =
        typeof block.arguments === 'string' ? block.arguments : await blobText(block.arguments, readBlob);
      return {
        type: 'tool-call',
        callId: wireCallId(block.callId),
        name: wireToolName(block.name),
        arguments: objectArguments(raw),
      };
    }
    default:
      return assertNever(block);
  }
}

async function toolResult(
  block: ToolResultBlock,
  abilities: MediaAbilities,
  readBlob: ReadBlob,
): Promise<PreparedResult> {
  return {
    callId: wireCallId(block.callId),
    content: await inputs(block.content, abilities, readBlob),
    isError: block.isError,
  };
}

async function inputs(
  blocks: readonly InputBlock[],
  abilities: MediaAbilities,
  readBlob: ReadBlob,
): Promise<PreparedInput[]> {
  const prepared = await Promise.all(blocks.map((block) => input(block, abilities, readBlob)));
  return prepared.filter((part) => part.type !== 'text' || part.text.trim() !== '');
}

async function input(
  block: InputBlock,
  abilities: MediaAbilities,
  readBlob: ReadBlob,
): Promise<PreparedInput> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'blob':
      return { type: 'text', text: await blobText(block, readBlob) };
    case 'image': {
      const { mediaType } = block;
      if (!abilities.images || showingOf(block) !== 'image') {
        return { type: 'text', text: `[An image (${mediaType}) is left out: the model cannot see it.]` };
      }
      return { type: 'image', mediaType, base64: base64(await readBlob(block.blob)) };
    }
    case 'file': {
      const { name, mediaType } = block;
      const showing = showingOf(block);
      if (showing === 'text') {
        return { type: 'text', text: `File ${name}:\n\n${decoded(await readBlob(block.blob))}` };
      }
      if (!abilities.files || showing !== 'document') {
        return {
          type: 'text',
          text: `[The file ${name} (${mediaType}) is left out: the model cannot read it.]`,
        };
      }
      return { type: 'document', name, mediaType, base64: base64(await readBlob(block.blob)) };
    }
    default:
      return assertNever(block);
  }
}

async function blobText(block: BlobBlock, readBlob: ReadBlob): Promise<string> {
  return decoded(await readBlob(block.sha256));
}

function decoded(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function saysSomething(block: PreparedBlock): boolean {
  return block.type === 'tool-call' || (block.type === 'text' && block.text.trim() !== '');
}

function isNotBlank(block: PreparedBlock): boolean {
  return block.type !== 'text' || block.text.trim() !== '';
}

/** Another provider's ids may be longer, or hold characters that this one refuses; the digest keeps them apart. */
function wireCallId(callId: string): string {
  if (/^[A-Za-z0-9_-]{1,40}$/.test(callId)) return callId;
  return `call_${createHash('sha256').update(callId).digest('hex').slice(0, 32)}`;
}

/** A name that the model made up would be refused as part of the history. */
function wireToolName(name: string): string {
  const usable = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_NAME_CHARACTERS);
  return usable === '' ? 'unknown' : usable;
}
