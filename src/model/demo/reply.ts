/**
 * What the demo provider says and calls next. Pure: it is derived from the messages alone, so that a step that is made
 * again says the same.
 */
import type { InputBlock, ToolCallBlock, ToolResultBlock } from '../../contract/content.js';
import type { Message, ModelRequest } from '../../contract/messages.js';
import { parseInstructions, type DemoCall, type DemoStep } from './instructions.js';

export interface DemoReply {
  readonly text: string;
  readonly calls: readonly { readonly callId: string; readonly name: string; readonly arguments: string }[];
}

/** How the runtime context begins; it is a user message that nobody wrote. */
const RUNTIME_CONTEXT = 'Current runtime context.';
const EXCERPT_CHARACTERS = 160;
const EXCERPT_LINES = 3;

const INTRODUCTION =
  "I am Turnkeeper's demo provider: no model, a few sentences and the real tools. For a real model set DEEPSEEK_API_KEY, " +
  'or name a provider under `providers` in turnkeeper.config.yaml.';
const UNDERSTOOD =
  'I understand: list files, read FILE, run COMMAND, write FILE with TEXT, search TEXT and wait N seconds; join them ' +
  'by "then". Try: list files, then read README.md, then run wc -l README.md';

interface Prompt {
  /** Its place among the messages. */
  readonly place: number;
  readonly seq: number;
  readonly steps: readonly DemoStep[];
}

/** The reply to a conversation. */
export function demoReply({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): DemoReply {
  const introduction = messages.some(({ role }) => role === 'assistant') ? '' : INTRODUCTION;
  const prompt = openPrompt(messages);
  if (prompt === undefined || prompt.steps.length === 0) {
    return { text: paragraphs(introduction, UNDERSTOOD), calls: [] };
  }
  const offered = new Set(tools.map(({ name }) => name));
  const steps = prompt.steps.map((step) => step.filter(({ tool }) => offered.has(tool)));
  const missing = missingTools(prompt.steps.flat(), offered);
  const due = steps.filter((step) => step.length > 0);
  const made = messages.slice(prompt.place + 1).filter((message) => callsOf(message).length > 0);
  const step = due[made.length];
  if (step === undefined) {
    const summary = made.length === 0 ? '' : summaryOf(messages.slice(prompt.place + 1));
    return { text: paragraphs(introduction, missing, summary), calls: [] };
  }
  return {
    text: paragraphs(introduction, announcement(step, made.length === 0)),
    calls: step.map(({ tool, input }, index) => ({
      callId: `demo_${String(prompt.seq)}_${String(made.length + 1)}_${String(index)}`,
      name: tool,
      arguments: JSON.stringify(input),
    })),
  };
}

/** The newest instruction that no answer has settled yet, or else the newest text; an answer without calls settles. */
function openPrompt(messages: readonly Message[]): Prompt | undefined {
  const lastAnswer = messages.findLastIndex(
    (message) => message.role === 'assistant' && callsOf(message).length === 0,
  );
  const prompts = messages.flatMap((message, place): Prompt[] => {
    const text = place > lastAnswer && message.role === 'user' ? textOf(message.content) : '';
    if (text.trim() === '' || text.startsWith(RUNTIME_CONTEXT)) return [];
    return [{ place, seq: message.seq, steps: parseInstructions(text) }];
  });
  return prompts.findLast(({ steps }) => steps.length > 0) ?? prompts.at(-1);
}

function announcement(step: DemoStep, first: boolean): string {
  const titles = step.map(({ title }) => title).join(' and ');
  return first ? `I begin with: ${titles}.` : `Next: ${titles}.`;
}

function missingTools(calls: readonly DemoCall[], offered: ReadonlySet<string>): string {
  const missing = calls.filter(({ tool }) => !offered.has(tool));
  if (missing.length === 0) return '';
  const titles = missing.map(({ title, tool }) => `"${title}" (it needs the tool ${tool})`).join(', ');
  return `I cannot do this here, since the tool is not offered: ${titles}.`;
}

function summaryOf(messages: readonly Message[]): string {
  const results = new Map(
    messages.flatMap((message) =>
      message.content.flatMap((block) =>
        block.type === 'tool-result' ? [[block.callId, block] as const] : [],
      ),
    ),
  );
  const lines = messages
    .flatMap(callsOf)
    .map((call) => `- ${callTitle(call)}: ${resultExcerpt(results.get(call.callId))}`);
  return `Done. This is what came of it:\n\n${lines.join('\n')}`;
}

function callTitle(call: ToolCallBlock): string {
  const input = inputOf(call.arguments);
  const subject = ['command', 'file_path', 'pattern']
    .map((key) => input[key])
    .find((value) => value !== undefined);
  return typeof subject === 'string' ? `${call.name} ${subject}` : call.name;
}

function inputOf(raw: ToolCallBlock['arguments']): Readonly<Record<string, unknown>> {
  if (typeof raw !== 'string') return {};
  try {
    const input: unknown = JSON.parse(raw);
    return typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  } catch {
    // A call of another provider with broken arguments; its name alone is shown.
    return {};
  }
}

function resultExcerpt(result: ToolResultBlock | undefined): string {
  if (result === undefined) return 'no result';
  const lines = textOf(result.content)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const start = lines.slice(0, EXCERPT_LINES).join(' · ');
  const excerpt = start.length > EXCERPT_CHARACTERS ? `${start.slice(0, EXCERPT_CHARACTERS)}…` : start;
  const rest =
    lines.length > EXCERPT_LINES ? ` (and ${String(lines.length - EXCERPT_LINES)} more lines)` : '';
  return `${result.isError ? 'it failed: ' : ''}${excerpt === '' ? '(no output)' : excerpt}${rest}`;
}

function callsOf(message: Message): ToolCallBlock[] {
  if (message.role !== 'assistant') return [];
  return message.content.flatMap((block) => (block.type === 'tool-call' ? [block] : []));
}

function textOf(content: readonly (InputBlock | ToolResultBlock)[]): string {
  return content
    .flatMap((block) => (block.type === 'text' ? [block.text] : block.type === 'blob' ? [block.head] : []))
    .join('\n');
}

function paragraphs(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}
