/** `questions`: what the model asks of a person, across sessions, and the answers. */
import type { Client } from '../../client/client.js';
import type { QuestionResource } from '../../contract/http-asks.js';
import { listAsks, type ListAsksOptions, showAsk } from '../ask-list.js';
import { answersOfFlags, askQuestions } from '../ask-person.js';
import { inOneLine, questionDetails, questionStatus } from '../ask-text.js';
import { CommandError, UsageError } from '../cli-error.js';
import type { CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';
import { openIds } from '../open-ids.js';
import { TerminalPrompt } from '../terminal-prompt.js';

const QUESTION_CHARACTERS = 80;
const HEADINGS = ['QUESTION', 'SESSION', 'STATUS', 'ASKED', 'WHAT'];

/** Lists questions, newest first. */
export async function listQuestions(options: ListAsksOptions, io: CliIo, client: Client): Promise<number> {
  return listAsks(options, io, {
    fetch: (query) => client.questions(query),
    headings: HEADINGS,
    row,
    nothing: 'No question waits for an answer.',
  });
}

function row(resource: QuestionResource): string[] {
  const { questionId, sessionId, askedAt, questions } = resource;
  const what = inOneLine(questions.map(({ question }) => question).join(' / '), QUESTION_CHARACTERS);
  return [questionId, sessionId, questionStatus(resource), askedAt, what];
}

/** Prints all that there is to know about a question. */
export async function showQuestion(
  id: string,
  options: { readonly json?: boolean },
  io: CliIo,
  client: Client,
): Promise<number> {
  return showAsk(await client.question(await openQuestion(id, client)), options, io, questionDetails);
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
