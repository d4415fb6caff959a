/** `questions`: what the model asks of a person, across sessions, and the answers. */
import type { Client } from '../../client/client.js';
import type { QuestionResource } from '../../contract/http.js';
import { answersOfFlags, askQuestions } from '../ask-person.js';
import { inOneLine, questionDetails, questionStatus } from '../ask-text.js';
import { CommandError, UsageError } from '../cli-error.js';
import type { CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';
import { openIds } from '../open-ids.js';
import { tableText } from '../table.js';
import { TerminalPrompt } from '../terminal-prompt.js';
import { listQuery, type ListAsksOptions } from './approvals.js';

const QUESTION_CHARACTERS = 80;
const HEADINGS = ['QUESTION', 'SESSION', 'STATUS', 'ASKED', 'WHAT'];

/** Lists questions, newest first. */
export async function listQuestions(options: ListAsksOptions, io: CliIo, client: Client): Promise<number> {
  const { items, nextCursor } = await client.questions(listQuery(options));
  if (options.json === true) {
    for (const question of items) await io.stdout.write(`${JSON.stringify(question)}\n`);
  } else if (items.length === 0) {
    await io.stderr.write('No question waits for an answer.\n');
  } else {
    await io.stdout.write(tableText([HEADINGS, ...items.map(row)]));
  }
  if (nextCursor !== null) await io.stderr.write('There are more; --limit shows up to 1000.\n');
  return EXIT.completed;
}

function row(resource: QuestionResource): string[] {
  const { questionId, sessionId, askedAt, questions } = resource;
  const what = inOneLine(questions.map(({ question }) => question).join(' / '), QUESTION_CHARACTERS);
  return [questionId, sessionId, questionStatus(resource), askedAt, what];
}

/** Prints all that there is to know about a question. */
export async function showQuestion(
  id: string,
  { json }: { readonly json?: boolean },
  io: CliIo,
  client: Client,
): Promise<number> {
  const question = await client.question(await openQuestion(id, client));
  await io.stdout.write(json === true ? `${JSON.stringify(question)}\n` : questionDetails(question));
  return EXIT.completed;
}

/** Answers a question by flags, or in a dialogue at a terminal. @throws UsageError. */
export async function answerQuestion(
  id: string,
  { answer = [] }: { readonly answer?: readonly string[] },
  io: CliIo,
  client: Client,
): Promise<number> {
  const isAtTerminal = io.stdin.isTTY === true && io.stderr.isTerminal;
  if (answer.length === 0 && !isAtTerminal) {
    throw new UsageError('Give --answer <question>=<answer>, or call this at a terminal.');
  }
  const { questionId, questions } = await client.question(await openQuestion(id, client));
  const answers = answer.length > 0 ? answersOfFlags(questions, answer) : await dialogue(questions, io);
  if (answers === undefined)
    throw new CommandError('The input has ended before every question was answered.');
  const { answer: standing } = await client.answerQuestion(questionId, answers);
  await io.stdout.write(`${standing?.outcome ?? 'answered'} ${questionId}\n`);
  return EXIT.completed;
}

async function dialogue(questions: QuestionResource['questions'], io: CliIo) {
  const prompt = new TerminalPrompt(io);
  try {
    return await askQuestions(prompt, questions);
  } finally {
    prompt.close();
  }
}

async function openQuestion(name: string, client: Client): Promise<string> {
  const [id = name] = await openIds('question', [name], async (cursor) => {
    const { items, nextCursor } = await client.questions({ limit: 1000, ...cursor });
    return { ids: items.map(({ questionId }) => questionId), nextCursor };
  });
  return id;
}
