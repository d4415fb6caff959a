/**
 * Takes what people decide from its body to the log: looked up, checked against the tool or the questions, stored, and
 * told to the engine.
 *
 * Owns what callers are told of a decision that does not stand. Which one stands is decided in `store/decisions.ts`.
 */
import { MAX_INLINE_BYTES } from '../contract/content.js';
import type { AnswersBody, DecisionBody } from '../contract/http-asks.js';
import type { ApprovalId, QuestionId, SessionUid } from '../contract/ids.js';
import { parseArgumentsObject } from '../core/arguments-object.js';
import { checkAnswers } from '../core/answers.js';
import {
  answerQuestion,
  decideApprovals,
  type ClosedHow,
  type PersonsDecision,
  type Settlement,
} from '../store/decisions.js';
import type { AskRecord } from '../store/session-store.js';
import type { AppDeps } from './app-deps.js';
import { askedApproval, askedQuestion } from './ask-resources.js';
import type { EngineNudge } from './engine-nudge.js';
import { ProblemError } from './problem.js';
import type { RequestContext } from './request-context.js';

type DecideDeps = Pick<AppDeps, 'store' | 'tools'> & { readonly nudge: EngineNudge };

export type ApprovalDecision = DecisionBody & { readonly approvalId: ApprovalId };

/** How one decision went: the approval's row as it stands, or the error that the decision met. */
export type Decided<E = unknown> = { readonly approvalId: ApprovalId } & (
  { readonly kind: 'stands'; readonly record: AskRecord } | { readonly kind: 'failed'; readonly error: E }
);

/** A decision that has passed its checks, with its place in the list. */
interface Due {
  readonly place: number;
  readonly record: AskRecord;
  readonly decision: PersonsDecision;
}

/** Decides one approval and returns its row as it stands. @throws `ProblemError`, `StoreError`. */
export async function decideOne(
  deps: DecideDeps,
  decision: ApprovalDecision,
  context: RequestContext,
): Promise<AskRecord> {
  const due = { place: 0, ...(await checked(deps, decision, context)) };
  const [decided] = await settle(deps, due.record.uid, [due]);
  if (decided?.kind === 'stands') return decided.record;
  throw decided?.error ?? new Error(`The decision on ${decision.approvalId} was lost.`);
}

/**
 * Decides approvals, each on its own: the answers have the order of the decisions. Those of one session share a
 * transaction, so that many of them cost one sync of the disk.
 */
export async function decideMany(
  deps: DecideDeps,
  decisions: readonly ApprovalDecision[],
  context: RequestContext,
): Promise<readonly Decided[]> {
  const answers: Decided[] = [];
  const fail = (place: number, approvalId: ApprovalId, error: unknown) => {
    answers[place] = { kind: 'failed', approvalId, error };
  };
  const bySession = new Map<SessionUid, Due[]>();
  for (const [place, decision] of decisions.entries()) {
    try {
      const due = { place, ...(await checked(deps, decision, context)) };
      const { uid } = due.record;
      bySession.set(uid, [...(bySession.get(uid) ?? []), due]);
    } catch (error) {
      fail(place, decision.approvalId, error);
    }
  }
  for (const [uid, dues] of bySession) {
    try {
      for (const { place, ...decided } of await settle(deps, uid, dues)) answers[place] = decided;
    } catch (error) {
      for (const { place, decision } of dues) fail(place, decision.approvalId, error);
    }
  }
  return answers;
}

/** Stores decisions on one session, and tells the engine of those that stand. @throws `StoreError`. */
async function settle(
  { store, nudge }: DecideDeps,
  uid: SessionUid,
  dues: readonly Due[],
): Promise<readonly (Decided<ProblemError> & { readonly place: number })[]> {
  const settled = await store.transact(uid, (transaction) => decideApprovals(transaction, dues));
  return settled.map(({ due: { place, record, decision }, settlement }) => {
    const { approvalId } = decision;
    if (settlement.kind !== 'stands') {
      return { kind: 'failed', place, approvalId, error: refusal('approval', settlement) };
    }
    // One that stood before was told then, or the sweeper tells it: a workflow takes only so many signals.
    if (record.closedSeq === null) nudge.decision(uid, record.turn, { kind: 'approval', approvalId });
    return { kind: 'stands', place, approvalId, record: { ...record, closedSeq: settlement.event.seq } };
  });
}

/** @throws `ProblemError` for an approval that is not there, or a decision that it cannot have. */
async function checked(
  deps: DecideDeps,
  decision: ApprovalDecision,
  context: RequestContext,
): Promise<Pick<Due, 'record' | 'decision'>> {
  checkShape(decision);
  const record = await deps.store.findAsk(context.tenant, decision.approvalId);
  if (record?.kind !== 'approval') throw new ProblemError('NOT_FOUND', 'There is no such approval.');
  // What is closed stays as it is, whatever the tool would say to the arguments today.
  if (record.closedSeq === null) await checkAgainstAsked(deps, decision, record);
  return { record, decision: personsDecision(decision, context) };
}

/** @throws `ProblemError` where edited arguments do not fit, or a grant of arguments that the log does not keep inline. */
async function checkAgainstAsked(
  { store, tools }: DecideDeps,
  { arguments: edited, scope, match }: ApprovalDecision,
  record: AskRecord,
): Promise<void> {
  if (edited === undefined && scope !== 'session') return;
  const { data } = await askedApproval(store, record);
  if (edited !== undefined) {
    const asked = typeof data.arguments === 'string' ? parseArgumentsObject(data.arguments) : undefined;
    const wrong = tools.checkArguments(data.tool, edited, asked);
    if (wrong !== undefined) throw new ProblemError('INVALID_REQUEST', wrong, 'arguments');
  } else if (match === undefined && typeof data.arguments !== 'string') {
    throw invalid(
      'scope',
      'cannot be "session" for arguments this large, by which no later call is known; give a "match"',
    );
  }
}

function checkShape({ outcome, scope, match, arguments: edited }: ApprovalDecision): void {
  if (outcome === 'deny') {
    const misplaced = Object.entries({ arguments: edited, scope, match }).find(
      ([, value]) => value !== undefined,
    )?.[0];
    if (misplaced !== undefined) {
      throw invalid(misplaced, 'belongs to an allow; a denied call does not run');
    }
  }
  if (match !== undefined && scope !== 'session') {
    throw invalid('match', 'says which later calls are allowed too, and so needs "scope": "session"');
  }
  if (edited !== undefined && bytesOf(edited) > MAX_INLINE_BYTES) {
    throw invalid('arguments', `are larger than ${String(MAX_INLINE_BYTES)} bytes as JSON`);
  }
}

function invalid(field: string, why: string): ProblemError {
  return new ProblemError('INVALID_REQUEST', `"${field}": ${why}.`, field);
}

function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).byteLength;
}

function personsDecision(decision: ApprovalDecision, { by }: RequestContext): PersonsDecision {
  const { approvalId, outcome, scope = 'once', match, note, arguments: edited } = decision;
  return {
    approvalId,
    by,
    ...(outcome === 'allow' ? { outcome: 'allowed', scope } : { outcome: 'denied' }),
    ...(note === undefined ? {} : { note }),
    ...(edited === undefined ? {} : { arguments: edited }),
    ...(match === undefined ? {} : { match }),
  };
}

/**
 * Answers a question and returns its row as it stands.
 *
 * @throws `ProblemError` where it is not there, the answers do not fit it, or they do not stand.
 */
export async function answer(
  { store, nudge }: Pick<DecideDeps, 'store' | 'nudge'>,
  { questionId, answers }: AnswersBody & { readonly questionId: QuestionId },
  { tenant, by }: RequestContext,
): Promise<AskRecord> {
  const record = await store.findAsk(tenant, questionId);
  if (record?.kind !== 'question') throw new ProblemError('NOT_FOUND', 'There is no such question.');
  if (bytesOf(answers) > MAX_INLINE_BYTES) {
    throw invalid('answers', `are larger than ${String(MAX_INLINE_BYTES)} bytes as JSON`);
  }
  if (record.closedSeq === null) {
    const { data } = await askedQuestion(store, record);
    const wrong = checkAnswers(data.questions, answers);
    if (wrong !== undefined) throw new ProblemError('INVALID_REQUEST', wrong, 'answers');
  }
  const settlement = await store.transact(record.uid, (transaction) =>
    answerQuestion(transaction, { questionId, answers, by }),
  );
  if (settlement.kind !== 'stands') throw refusal('question', settlement);
  if (record.closedSeq === null) nudge.decision(record.uid, record.turn, { kind: 'question', questionId });
  return { ...record, closedSeq: settlement.event.seq };
}

type Standing = { readonly at: string; readonly data: { readonly outcome: string; readonly by: string } };

/** Why the decision does not stand. */
function refusal(
  what: AskRecord['kind'],
  settlement: Exclude<Settlement<Standing>, { kind: 'stands' }>,
): ProblemError {
  if (settlement.kind === 'closed') {
    return new ProblemError('APPROVAL_CLOSED', `The ${what} is closed: ${CLOSED[settlement.how]}.`);
  }
  const { at, data } = settlement.event;
  return new ProblemError(
    'APPROVAL_DECIDED',
    `The ${what} was ${data.outcome} by ${data.by} at ${at}${what === 'question' ? ', in other words' : ''}; the first decision stands.`,
  );
}

const CLOSED: Readonly<Record<ClosedHow, string>> = {
  expired: 'it has expired before anybody decided',
  withdrawn: 'the turn that asked has withdrawn it',
  unavailable: 'its prompt said that nobody can answer, so its call was refused at once',
  cancelling: 'its turn is being cancelled',
};
