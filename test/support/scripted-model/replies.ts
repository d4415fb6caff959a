/**
 * What the scripted model server can be told to answer, and the events that an answer consists of on each wire.
 *
 * Owns shapes and event texts. Sending them, with delays and accidents, is the server's business.
 */

export type ScriptedWire = 'chat-completions' | 'messages';

export interface ScriptedCall {
  /** Default `call_<request>_<place>`; '' leaves it out. */
  readonly id?: string;
  readonly name: string;
  /** An object is sent as JSON, a string as it is. */
  readonly arguments: string | Readonly<Record<string, unknown>>;
}

/** Tokens as this server counts them: disjoint, whatever the wire makes of them. */
export interface ScriptedUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

/** What happens to the connection in the middle of an answer. */
export type Accident = 'cut' | 'reset' | 'silence' | 'pings' | { readonly error: unknown };

interface Delivery {
  readonly headers?: Readonly<Record<string, string>>;
  /** Before each event, in milliseconds. */
  readonly delayMs?: number;
  /** Sends the bytes in segments of this length. */
  readonly splitBytes?: number;
}

/** A streamed answer, spelled as the wire of the request wants it. */
export interface Answer extends Delivery {
  readonly reasoning?: string;
  /** Proof of the reasoning (Messages only). */
  readonly signature?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Null sends none. */
  readonly usage?: ScriptedUsage | null;
  /** The wire's own finish or stop reason; default as the content has it. Null leaves it out. */
  readonly finish?: string | null;
  /** Into how many deltas a text or the arguments of a call are cut; default 3. */
  readonly pieces?: number;
  /** Sends the fragments of several calls in turns. */
  readonly interleave?: boolean;
  /** After so many events the accident happens, and nothing else follows. */
  readonly accident?: { readonly afterEvents: number; readonly what: Accident };
}

/** An answer that is no stream. */
export interface StatusReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: unknown;
}

/** Bytes as they are, in these segments, under the head of an event stream. */
export interface RawReply extends Delivery {
  readonly raw: readonly (string | Uint8Array)[];
  readonly accident?: Accident;
}

/** No answer at all: the connection stays silent or is reset before any header. */
export interface NoReply {
  readonly connection: 'silence' | 'reset';
}

export type Reply = Answer | StatusReply | RawReply | NoReply;

const DEFAULT_USAGE: ScriptedUsage = { input: 10, output: 5 };

/** The events of an answer, each as the text that is sent. `request` counts the requests from 1. */
export function eventsOf(answer: Answer, wire: ScriptedWire, request: number): string[] {
  return wire === 'chat-completions' ? chatEvents(answer, request) : messagesEvents(answer, request);
}

/** An error event in the middle of a stream. */
export function errorEvent(error: unknown, wire: ScriptedWire): string {
  return wire === 'chat-completions'
    ? data({ error })
    : `event: error\n${data({ type: 'error', error, request_id: 'req_in_stream' })}`;
}

export function pingEvent(wire: ScriptedWire): string {
  return wire === 'chat-completions' ? ': keep-alive\n\n' : `event: ping\n${data({ type: 'ping' })}`;
}

function data(value: unknown): string {
  return `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
}

function inPieces(text: string, pieces = 3): string[] {
  const characters = Array.from(text);
  const length = Math.max(1, Math.ceil(characters.length / pieces));
  return Array.from({ length: Math.ceil(characters.length / length) }, (_, piece) =>
    characters.slice(piece * length, (piece + 1) * length).join(''),
  );
}

function argumentText(call: ScriptedCall): string {
  return typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
}

function callId(call: ScriptedCall, request: number, place: number): string {
  return call.id ?? `call_${String(request)}_${String(place)}`;
}

function chatEvents(answer: Answer, request: number): string[] {
  const { calls = [], usage = DEFAULT_USAGE } = answer;
  const chunk = (delta: unknown, finish: string | null = null): string =>
    data({
      id: `chatcmpl-${String(request)}`,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finish }],
      usage: null,
    });
  const fragments = calls.map((call, index) => {
    const id = callId(call, request, index);
    const first = {
      index,
      ...(id === '' ? {} : { id }),
      type: 'function',
      function: { name: call.name, arguments: '' },
    };
    const rest = inPieces(argumentText(call), answer.pieces).map((part) => ({
      index,
      function: { arguments: part },
    }));
    return [first, ...rest].map((fragment) => chunk({ tool_calls: [fragment] }));
  });
  const finish = answer.finish === undefined ? (calls.length > 0 ? 'tool_calls' : 'stop') : answer.finish;
  return [
    chunk({ role: 'assistant', content: '' }),
    ...inPieces(answer.reasoning ?? '', answer.pieces).map((part) => chunk({ reasoning_content: part })),
    ...inPieces(answer.text ?? '', answer.pieces).map((part) => chunk({ content: part })),
    ...(answer.interleave === true ? inTurns(fragments) : fragments.flat()),
    ...(finish === null ? [] : [chunk({}, finish)]),
    ...(usage === null ? [] : [data({ choices: [], usage: chatUsage(usage) })]),
    data('[DONE]'),
  ];
}

function chatUsage({ input, output, cacheRead = 0, reasoning = 0 }: ScriptedUsage): unknown {
  return {
    prompt_tokens: input + cacheRead,
    completion_tokens: output + reasoning,
    total_tokens: input + cacheRead + output + reasoning,
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function messagesEvents(answer: Answer, request: number): string[] {
  const { calls = [], reasoning = '', text = '', usage = DEFAULT_USAGE } = answer;
  const event = (value: { type: string; [key: string]: unknown }): string =>
    `event: ${value.type}\n${data(value)}`;
  let blocks = 0;
  const block = (start: unknown, deltas: readonly unknown[]): string[] => {
    const index = blocks++;
    return [
      event({ type: 'content_block_start', index, content_block: start }),
      ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
      event({ type: 'content_block_stop', index }),
    ];
  };
  const thinking = inPieces(reasoning, answer.pieces).map((part) => ({
    type: 'thinking_delta',
    thinking: part,
  }));
  const signature =
    answer.signature === undefined ? [] : [{ type: 'signature_delta', signature: answer.signature }];
  const said = inPieces(text, answer.pieces).map((part) => ({ type: 'text_delta', text: part }));
  const reasoningEvents =
    reasoning === '' ? [] : block({ type: 'thinking', thinking: '' }, [...thinking, ...signature]);
  const textEvents = text === '' ? [] : block({ type: 'text', text: '' }, said);
  const callEvents = calls.map((call, place) =>
    block(
      { type: 'tool_use', id: callId(call, request, place), name: call.name, input: {} },
      inPieces(argumentText(call), answer.pieces).map((part) => ({
        type: 'input_json_delta',
        partial_json: part,
      })),
    ),
  );
  const stop = answer.finish === undefined ? (calls.length > 0 ? 'tool_use' : 'end_turn') : answer.finish;
  const { input, output, cacheRead = 0, cacheWrite = 0, reasoning: thought = 0 } = usage ?? DEFAULT_USAGE;
  const inputUsage = {
    input_tokens: input,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
    output_tokens: 1,
  };
  return [
    event({
      type: 'message_start',
      message: {
        id: `msg_${String(request)}`,
        role: 'assistant',
        ...(usage === null ? {} : { usage: inputUsage }),
      },
    }),
    ...reasoningEvents,
    ...textEvents,
    ...(answer.interleave === true ? inTurns(callEvents) : callEvents.flat()),
    event({
      type: 'message_delta',
      delta: { stop_reason: stop },
      ...(usage === null ? {} : { usage: { output_tokens: output + thought } }),
    }),
    event({ type: 'message_stop' }),
  ];
}

function inTurns(lists: readonly (readonly string[])[]): string[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, turn) =>
    lists.flatMap((list) => list.slice(turn, turn + 1)),
  ).flat();
}
