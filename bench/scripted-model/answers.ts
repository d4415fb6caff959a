/** The bytes of the scripted model's answers, as server-sent events of chat completions. Pure. */
import type { PlayedCall } from './script.js';

function event(body: object): string {
  return `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', ...body })}\n\n`;
}

function delta(content: object, finish: string | null = null): string {
  return event({ choices: [{ index: 0, delta: content, finish_reason: finish }] });
}

/** One chunk of text. */
export function textChunk(text: string): string {
  return delta({ content: text });
}

/** What stands at the end of every answer. */
export function ending(finish: 'stop' | 'tool_calls'): string[] {
  return [
    delta({}, finish),
    event({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } }),
    'data: [DONE]\n\n',
  ];
}

/** An answer that says a few words and makes one call, its arguments in pieces as a provider streams them. */
export function callAnswer(call: PlayedCall, id: string): string[] {
  const text = JSON.stringify(call.arguments);
  const middle = Math.ceil(text.length / 2);
  const part = (piece: string) => delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] });
  return [
    delta({ role: 'assistant', content: '' }),
    ...['I', ' look', ' at', ' it', '.'].map(textChunk),
    delta({
      tool_calls: [{ index: 0, id, type: 'function', function: { name: call.name, arguments: '' } }],
    }),
    part(text.slice(0, middle)),
    part(text.slice(middle)),
    ...ending('tool_calls'),
  ];
}

/** An answer in text, a chunk for each word. */
export function textAnswer(): string[] {
  return [
    delta({ role: 'assistant', content: '' }),
    ...['That', ' is', ' all', ' there', ' is', '.'].map(textChunk),
    ...ending('stop'),
  ];
}
