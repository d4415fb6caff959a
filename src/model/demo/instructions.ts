/**
 * The few English sentences that the demo provider understands, as tool calls. Pure.
 *
 * "then" parts the steps; what is joined by "and" in one of them is called at once. Text in double quotes or backticks
 * is taken as it stands.
 */

export interface DemoCall {
  readonly tool: 'read' | 'glob' | 'grep' | 'bash' | 'write';
  readonly input: Readonly<Record<string, string | number>>;
  /** The instruction in few words, for the text around the call. */
  readonly title: string;
}

/** The calls of one step, made at once. */
export type DemoStep = readonly DemoCall[];

/** Longer texts are not instructions. */
const MAX_INSTRUCTION_CHARACTERS = 4000;
/** The bash tool's own limit; longer waits ask for more time. */
const DEFAULT_BASH_TIMEOUT_SECONDS = 120;

const NEXT_STEP = /\s*[,.;]?\s*\b(?:and\s+)?(?:then|after that)\b\s*,?\s*|\s*\n+\s*/i;
const VERB = 'list|show|read|open|print|run|execute|write|create|search|grep|find|look for|wait|sleep';
const NEXT_CALL = new RegExp(`\\s*,\\s*(?:and\\s+)?(?=(?:${VERB})\\b)|\\s+and\\s+(?=(?:${VERB})\\b)`, 'i');
const PREAMBLE = /^(?:(?:please|first|now|finally|can you|could you|would you|i want you to|next)[\s,]+)+/i;

type Rule = readonly [pattern: RegExp, calls: (match: readonly string[]) => DemoCall[]];

const RULES: readonly Rule[] = [
  [
    /^(?:list|show)(?:\s+me)?(?:\s+(?:all|the|my))*\s+files(?:\s+(?:in|under|of)\s+(.+))?$/i,
    ([, folder = '']) => [listCall(folder)],
  ],
  [
    /^(?:read|open|show|print)(?:\s+me)?\s+(?:the\s+)?(?:files?\s+)?(.+)$/i,
    ([, files = '']) =>
      files
        .split(/\s*,\s*(?:and\s+)?|\s+and\s+/i)
        .filter(Boolean)
        .map(readCall),
  ],
  [/^(?:run|execute)\s+(?:the\s+command\s+)?(.+)$/i, ([, command = '']) => [runCall(command)]],
  [
    /^(?:write|create)\s+(?:an?\s+|the\s+)?(?:file\s+)?(\S+)\s+(?:with|containing)\s+(?:the\s+)?(?:(?:text|content)\s+)?(.+)$/i,
    ([, file = '', content = '']) => [writeCall(file, content)],
  ],
  [
    /^write\s+(.+)\s+(?:to|into)\s+(?:the\s+file\s+)?(\S+)$/i,
    ([, content = '', file = '']) => [writeCall(file, content)],
  ],
  [
    /^(?:search|grep|find|look)\s+(?:(?:all\s+|the\s+)*files\s+)?(?:for\s+)?(.+)$/i,
    ([, text = '']) => [searchCall(text)],
  ],
  [
    /^(?:wait|sleep)\s+(?:for\s+)?(\d{1,6}(?:\.\d+)?)\s*(m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)?$/i,
    ([, amount = '0', unit = 's']) => [waitCall(Number(amount) * (/^m/i.test(unit) ? 60 : 1))],
  ],
];

/** The steps that a text asks for; empty where its first instruction is not understood. */
export function parseInstructions(text: string): DemoStep[] {
  if (text.length > MAX_INSTRUCTION_CHARACTERS) return [];
  const quotes: string[] = [];
  const masked = text.trim().replace(/`[^`]+`|"[^"]+"/g, (quoted) => {
    quotes.push(quoted.slice(1, -1));
    return `\u0000${String(quotes.length - 1)}\u0000`;
  });
  const unmask = (part: string): string =>
    part.replace(/\0(\d+)\0/g, (_whole, place: string) => quotes[Number(place)] ?? '');
  const steps: DemoStep[] = [];
  for (const clause of masked.split(NEXT_STEP)) {
    const calls = clause
      .replace(PREAMBLE, '')
      .split(NEXT_CALL)
      .flatMap((instruction) => callsOf(instruction, unmask));
    if (calls.length > 0) steps.push(calls);
    else if (steps.length === 0 && clause !== '') return [];
  }
  return steps;
}

function callsOf(instruction: string, unmask: (part: string) => string): DemoCall[] {
  const sentence = instruction.trim().replace(/([^\s.!?])[.!?]+$/, '$1');
  for (const [pattern, calls] of RULES) {
    const match = pattern.exec(sentence);
    if (match === null) continue;
    // A group that takes no part in the match is undefined, whatever its type says.
    const groups = [...match].map((group: string | undefined) =>
      group === undefined ? group : unmask(group),
    );
    return calls(groups as string[]);
  }
  return [];
}

function listCall(folder: string): DemoCall {
  const root = folder.replace(/\/+$/, '');
  return root === ''
    ? { tool: 'glob', input: { pattern: '**/*' }, title: 'list files' }
    : { tool: 'glob', input: { pattern: `${root}/**/*` }, title: `list files in ${root}` };
}

function readCall(file: string): DemoCall {
  return { tool: 'read', input: { file_path: file }, title: `read ${file}` };
}

function runCall(command: string): DemoCall {
  return { tool: 'bash', input: { command }, title: `run ${command}` };
}

function writeCall(file: string, content: string): DemoCall {
  return { tool: 'write', input: { file_path: file, content }, title: `write ${file}` };
}

function searchCall(text: string): DemoCall {
  const pattern = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return { tool: 'grep', input: { pattern }, title: `search ${text}` };
}

function waitCall(seconds: number): DemoCall {
  return {
    tool: 'bash',
    input: {
      command: `sleep ${String(seconds)}`,
      ...(seconds < DEFAULT_BASH_TIMEOUT_SECONDS ? {} : { timeout_ms: (seconds + 10) * 1000 }),
    },
    title: `wait ${String(seconds)} seconds`,
  };
}
