/**
 * Approvals and questions as text for the person who decides.
 *
 * What a model wrote is shown as it is, not as it wants to look: characters that a terminal obeys, or that hide or turn
 * around others, are spelled out.
 */
import type { ApprovalResource, QuestionResource } from '../contract/http-asks.js';
import type { EventOf, Question } from '../contract/events.js';

/** Of a preview that is shown before a question, so that the question stays in sight. */
const PREVIEW_LINES = 40;

/** Controls but for tab and line feed; marks that change the direction of text; characters of no width. */
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** The text with every character spelled out that a reader would not see as what it is. */
export function revealed(text: string): string {
  return text.replace(UNSEEN, (unseen) => `\\u${unseen.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The text on one line of at most `characters`. */
export function inOneLine(text: string, characters: number): string {
  const line = revealed(text.replace(/\s+/g, ' ').trim());
  return line.length > characters ? `${line.slice(0, characters - 1)}…` : line;
}

/** What the call would do: its preview, else its arguments. */
export function whatItDoes({ preview, arguments: args }: ApprovalResource): string {
  return preview?.text ?? JSON.stringify(args, null, 2);
}

/** The call and why it is asked about, with as much of what it would do as fits above a question. */
export function approvalHead(approval: ApprovalResource): string {
  const lines = revealed(whatItDoes(approval)).split('\n');
  const more = lines.length - PREVIEW_LINES;
  return [
    `${revealed(approval.tool)}: ${revealed(approval.reason)}`,
    ...lines.slice(0, PREVIEW_LINES).map((line) => `  ${line}`),
    ...(more > 0 ? [`  … ${String(more)} more lines: turnkeeper approvals show ${approval.approvalId}`] : []),
  ].join('\n');
}

/** Everything about an approval. */
export function approvalDetails(approval: ApprovalResource): string {
  const { decision } = approval;
  const rows: [string, string | undefined][] = [
    ['approval', approval.approvalId],
    ['session', approval.sessionId],
    ['turn', `${String(approval.turn)}, step ${String(approval.step)}`],
    ['tool', approval.tool],
    ['reason', approval.reason],
    ['asked', approval.askedAt],
    ['expires', approval.expiresAt],
    ['status', approvalStatus(approval)],
    ['decided', decision === undefined ? undefined : `by ${decision.by} at ${decision.at}`],
    ['note', decision?.note],
    ['ran as', decision?.arguments === undefined ? undefined : JSON.stringify(decision.arguments)],
    ['covers', decision?.match === undefined ? undefined : JSON.stringify(decision.match)],
  ];
  return `${rowsText(rows)}\n\n${revealed(whatItDoes(approval))}\n`;
}

/** `open`, or how it was closed. */
export function approvalStatus({ decision }: ApprovalResource): string {
  if (decision === undefined) return 'open';
  return decision.scope === 'session' ? `${decision.outcome} for the session` : decision.outcome;
}

/** Everything about a question. */
export function questionDetails(question: QuestionResource): string {
  const { answer } = question;
  const rows: [string, string | undefined][] = [
    ['question', question.questionId],
    ['session', question.sessionId],
    ['turn', `${String(question.turn)}, step ${String(question.step)}`],
    ['asked', question.askedAt],
    ['expires', question.expiresAt],
    ['status', questionStatus(question)],
    ['closed', answer === undefined ? undefined : `by ${answer.by} at ${answer.at}`],
  ];
  const asked = question.questions.map((one) => {
    const given = answer?.answers?.find(({ id }) => id === one.id);
    const words =
      given === undefined ? [] : [...given.selected, ...(given.text === undefined ? [] : [given.text])];
    return `${revealed(one.id)}: ${questionText(one)}${words.length === 0 ? '' : `\n  > ${revealed(words.join(', '))}`}`;
  });
  return `${rowsText(rows)}\n\n${asked.join('\n')}\n`;
}

/** `open`, or how it was closed. */
export function questionStatus({ answer }: QuestionResource): string {
  return answer?.outcome ?? 'open';
}

/** A question with its options, numbered from 1. */
export function questionText({ question, options = [] }: Question): string {
  return [revealed(question), ...options.map((option, n) => `  ${String(n + 1)} ${revealed(option)}`)].join(
    '\n',
  );
}

/** How an ask was closed, in a few words. */
export function closingText(event: EventOf<'approval/decided' | 'question/answered'>): string {
  const { outcome, by } = event.data;
  const what = event.type === 'approval/decided' ? 'approval' : 'question';
  const isByPerson = outcome === 'allowed' || outcome === 'denied' || outcome === 'answered';
  const note = event.type === 'approval/decided' ? event.data.note : undefined;
  return `${what} ${outcome}${isByPerson ? ` by ${by}` : ''}${note === undefined ? '' : `: ${inOneLine(note, 200)}`}`;
}

function rowsText(rows: readonly (readonly [string, string | undefined])[]): string {
  return rows
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(9)} ${revealed(value)}`]))
    .join('\n');
}
