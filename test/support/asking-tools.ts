/** Tools that a person is asked about, each telling when its body ran. */
import { z } from 'zod';
import type { ToolEffect } from '../../src/contract/events.js';
import { defineTool, type CallMode, type Tool } from '../../src/tools/tool.js';

export interface Ran {
  readonly tool: string;
  readonly text: string;
}

/** Notes its text; with the rules of {@link ASK_RULES} `deliver` and `announce` ask first, `look` never does. */
export function askingTools(
  ran: Ran[],
  onRun: (ran: Ran) => Promise<void> = () => Promise.resolve(),
): Tool[] {
  const noting = (name: string, mode: CallMode, effect: ToolEffect) =>
    defineTool({
      name,
      description: `Notes its text as ${name}.`,
      parameters: z.strictObject({ text: z.string() }),
      effect,
      permission: 'none',
      concurrency: () => mode,
      preview: ({ text }) => ({ kind: 'text', text: `${name} ${text}` }),
      execute: async ({ text }) => {
        ran.push({ tool: name, text });
        await onRun({ tool: name, text });
        return { content: `${name} ${text} done` };
      },
    }) as Tool;
  return [
    noting('deliver', 'exclusive', 'effect'),
    noting('announce', 'parallel', 'effect'),
    noting('look', 'parallel', 'read'),
    defineTool({
      name: 'ask_user_question',
      description: 'Asks a person.',
      parameters: z.strictObject({
        questions: z.array(
          z.strictObject({ id: z.string(), question: z.string(), options: z.array(z.string()).optional() }),
        ),
      }),
      effect: 'read',
      permission: 'none',
      concurrency: () => 'parallel',
      questions: ({ questions }) => questions,
      execute: (_args, { answers }) => Promise.resolve({ content: JSON.stringify(answers) }),
    }),
  ];
}

/** Rules of a profile under which {@link askingTools} ask. */
export const ASK_RULES = [
  { tool: 'deliver', decision: 'ask' },
  { tool: 'announce', decision: 'ask' },
] as const;
