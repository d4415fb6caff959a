/**
 * The strict scripted model of a round: it reads the plan of a turn from its prompt, and where the turn stands from the
 * messages that it is sent.
 */
import type { RecordedRequest, Reply, ScriptedCall } from '../test/support/scripted-model-server.js';
import type { PlannedStep } from './plan.js';

const MARK = 'plan ';

/** The text of a prompt that carries its plan. */
export function promptText(id: string, steps: readonly PlannedStep[]): string {
  return `${MARK}${JSON.stringify({ id, steps })}`;
}

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly unknown[];
}

/** Answers as the newest plan in the conversation says. */
export function planModel(): (request: RecordedRequest) => Reply {
  const failed = new Map<string, number>();
  return ({ body }) => {
    const messages = body['messages'] as readonly Message[];
    const at = messages.findLastIndex((message) => message.role === 'user' && planOf(message) !== undefined);
    const plan = at === -1 ? undefined : planOf(messages[at]);
    if (plan === undefined) return { text: 'There is no plan.' };
    const taken = messages.slice(at + 1).filter(({ tool_calls: calls }) => calls !== undefined).length;
    const step = plan.steps[Math.min(taken, plan.steps.length - 1)];
    if (step === undefined) return { text: 'The plan has no steps.' };
    const place = `${plan.id}.${String(taken)}`;
    const failures = failed.get(place) ?? 0;
    const failure = step.failures[failures];
    if (failure !== undefined) {
      failed.set(place, failures + 1);
      return failure === 'rate-limit'
        ? { status: 429, headers: { 'retry-after-ms': '200' }, body: { error: { message: 'slow down' } } }
        : { ...answerOf(step, place), accident: { afterEvents: 2, what: 'cut' } };
    }
    return answerOf(step, place);
  };
}

function planOf(message: Message | undefined): { id: string; steps: PlannedStep[] } | undefined {
  const text = textOf(message?.content);
  const start = text.lastIndexOf(MARK);
  if (start === -1) return undefined;
  try {
    return JSON.parse(text.slice(start + MARK.length)) as { id: string; steps: PlannedStep[] };
  } catch {
    // Some other text that has the mark in it.
    return undefined;
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? (content as { text?: string }[]).map(({ text = '' }) => text).join('') : '';
}

function answerOf({ kind, pieces, delayMs, commandMs }: PlannedStep, place: string) {
  const streamed = { pieces, delayMs };
  if (kind === 'text') return { text: `The answer to ${place}, ${WORDS}`, ...streamed };
  return { text: `Now ${place}.`, calls: callsOf(kind, place, commandMs), ...streamed };
}

const WORDS = 'in several words, so that there is something to stream: über, 水, 🙂, and the end.';

function callsOf(kind: PlannedStep['kind'], place: string, commandMs: number): ScriptedCall[] {
  switch (kind) {
    case 'reads':
      return [
        { name: 'read', arguments: { file_path: 'notes.txt' } },
        { name: 'glob', arguments: { pattern: '*.txt' } },
        { name: 'grep', arguments: { pattern: 'note' } },
      ];
    case 'effect':
      return [1, 2].map((n) => ({
        name: 'bash',
        arguments: { command: effect(`${place}.${String(n)}`, commandMs) },
      }));
    case 'question':
      return [
        {
          name: 'ask_user_question',
          arguments: { questions: [{ id: 'q', question: 'Go on?', options: ['yes', 'no'] }] },
        },
      ];
    case 'text':
      return [];
  }
}

/** A command that leaves one line, which tells how often it ran. */
function effect(id: string, ms: number): string {
  return `echo ${id} >> effects.log${ms === 0 ? '' : `; sleep ${String(ms / 1000)}`}`;
}

/** The id in the arguments of a call of {@link effect}. */
export function effectId(rawArguments: string): string | undefined {
  return /echo (\S+) >> effects\.log/.exec(rawArguments)?.[1];
}
