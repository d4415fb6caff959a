/** The dialogue about one approval or question: from what a person types to the body that is sent. */
import type { NewAnswers, NewDecision } from '../client/client.js';
import type { Question } from '../contract/events.js';
import type { ApprovalResource } from '../contract/http-asks.js';
import { approvalHead, questionText, revealed } from './ask-text.js';
import { UsageError } from './cli-error.js';
import type { TerminalPrompt } from './terminal-prompt.js';

type GivenAnswer = NewAnswers['answers'][number];

/** What a person decides; undefined where nobody answers, or the signal is aborted. */
export async function askApproval(
  prompt: TerminalPrompt,
  approval: ApprovalResource,
  signal?: AbortSignal,
): Promise<NewDecision | undefined> {
  await prompt.say(approvalHead(approval));
  for (;;) {
    const line = await prompt.ask('Allow? y once, a for the session, n no > ', signal);
    switch (line?.trim().toLowerCase()) {
      case undefined:
        return undefined;
      case 'y':
        return { outcome: 'allow' };
      case 'a':
        return { outcome: 'allow', scope: 'session' };
      case 'n': {
        const note = await prompt.ask('A note for the model, or nothing > ', signal);
        if (note === undefined) return undefined;
        return note.trim() === '' ? { outcome: 'deny' } : { outcome: 'deny', note: note.trim() };
      }
    }
  }
}

/** What a person answers to each question; undefined where nobody answers, or the signal is aborted. */
export async function askQuestions(
  prompt: TerminalPrompt,
  questions: readonly Question[],
  signal?: AbortSignal,
): Promise<NewAnswers | undefined> {
  const answers: GivenAnswer[] = [];
  for (const question of questions) {
    await prompt.say(questionText(question));
    let answer: GivenAnswer | undefined;
    while (answer === undefined) {
      const line = await prompt.ask(`${invitation(question)} > `, signal);
      if (line === undefined) return undefined;
      answer = answerOf(question, line);
    }
    answers.push(answer);
  }
  return { answers };
}

function invitation({ options = [], multiSelect }: Question): string {
  if (options.length === 0) return 'Your answer';
  return multiSelect === true ? 'Numbers, or your own words' : 'A number, or your own words';
}

/** The answer that the line gives: options by their numbers or names, or free words; undefined where it gives none. */
export function answerOf({ id, options = [], multiSelect }: Question, line: string): GivenAnswer | undefined {
  const text = line.trim();
  if (text === '') return undefined;
  const parts = (multiSelect === true ? text.split(',') : [text]).map((part) => part.trim());
  const selected = parts.map((part) =>
    /^\d+$/.test(part) ? options[Number(part) - 1] : options.find((option) => option === part),
  );
  if (selected.every((option) => option !== undefined)) return { id, selected: [...new Set(selected)] };
  // A number that stands for no option is a slip, not an answer.
  if (options.length > 0 && parts.every((part) => /^\d+$/.test(part))) return undefined;
  return { id, text };
}

/**
 * The answers of `--answer <question>=<option or words>` flags. An option is named by its text; several flags for one
 * question choose several options.
 *
 * @throws UsageError.
 */
export function answersOfFlags(questions: readonly Question[], flags: readonly string[]): NewAnswers {
  const given = new Map<string, { selected: string[]; text?: string }>();
  for (const flag of flags) {
    const [, id = '', value = ''] = /^([^=]+)=(.*)$/s.exec(flag) ?? [];
    const question = questions.find((one) => one.id === id);
    if (question === undefined) {
      const ids = questions.map((one) => revealed(one.id)).join(', ');
      throw new UsageError(`"${flag}" answers no question; write <question>=<answer>, with one of: ${ids}.`);
    }
    const answer = given.get(id) ?? { selected: [] };
    if (question.options?.includes(value) === true) answer.selected.push(value);
    else if (answer.text === undefined) answer.text = value;
    else throw new UsageError(`The question "${id}" is answered twice in free words.`);
    given.set(id, answer);
  }
  return { answers: [...given].map(([id, answer]) => ({ id, ...answer })) };
}
