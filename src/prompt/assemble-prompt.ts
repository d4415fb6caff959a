/**
 * Assembles what a model is told before the conversation: the system text out of sections, and the runtime context.
 *
 * The system text is stable from step to step, byte for byte, so that a provider's cache keeps it.
 */
import { createHash } from 'node:crypto';
import { type Sha256, sha256Schema } from '../contract/ids.js';
import { builtInSections, type PromptSection } from './prompt-sections.js';
import { renderRuntimeContext, type RuntimeContextInput } from './runtime-context.js';

export interface PromptInput {
  /** The operator's text from the profile; '' is none. */
  readonly instructions: string;
  /** The names of the tools that are offered. */
  readonly toolNames: readonly string[];
  /** Sections of a deployment, after Turnkeeper's own and before the instructions. */
  readonly extraSections?: readonly PromptSection[];
  /** Values for `{{name}}` in sections and instructions. What changes from step to step does not belong here. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly runtime: RuntimeContextInput;
}

export interface AssembledPrompt {
  readonly system: string;
  /** Each section of `system` in its order, with the digest of its text. */
  readonly sections: readonly { readonly name: string; readonly sha256: Sha256 }[];
  /** The text of the runtime context message, to be appended where it differs from the last. */
  readonly context: string;
}

/** Pure: the same input makes the same bytes. A section that is blank is left out. */
export function assemblePrompt(input: PromptInput): AssembledPrompt {
  const { instructions, toolNames, extraSections = [], variables = {}, runtime } = input;
  const sections = [
    ...builtInSections(toolNames),
    ...extraSections,
    { name: 'instructions', text: instructions },
  ]
    .map(({ name, text }) => ({ name, text: substituteVariables(text, variables).trim() }))
    .filter(({ text }) => text !== '');
  return {
    system: sections.map(({ text }) => text).join('\n\n'),
    sections: sections.map(({ name, text }) => ({ name, sha256: digest(text) })),
    context: renderRuntimeContext(runtime),
  };
}

/**
 * Puts values in the place of `{{name}}`, once: a value that holds `{{other}}` stays as it is. An unknown name is left
 * as it stands, since a text may speak of templates.
 */
export function substituteVariables(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{\{\s*([A-Za-z][\w.-]*)\s*\}\}/g, (whole, name: string) =>
    Object.hasOwn(variables, name) ? (variables[name] ?? whole) : whole,
  );
}

function digest(text: string): Sha256 {
  return sha256Schema.parse(createHash('sha256').update(text).digest('hex'));
}
