/** What approvals and questions change in the state: the asks of the open step, grants, and the time that is waited. */
import type { EventData, EventOf } from '../contract/events.js';
import type { ApprovalId, CallId } from '../contract/ids.js';
import { parseArgumentsObject } from './arguments-object.js';
import { inCall, inTurn, type CallAsk, type CallState } from './open-turn.js';
import type { PermissionGrant } from './permission.js';
import type { SessionState } from './session-state.js';

export interface PendingApproval {
  readonly approvalId: ApprovalId;
  readonly callId: CallId;
}

type AskEvent = EventOf<'approval/asked' | 'approval/decided' | 'question/asked' | 'question/answered'>;

/** What the event changes, but for the time that is waited. */
export function askChange(state: SessionState, event: AskEvent): Partial<SessionState> {
  switch (event.type) {
    case 'approval/asked': {
      const { approvalId, callId, arguments: args, expiresAt = null } = event.data;
      const ask: CallAsk = { kind: 'approval', approvalId, arguments: args, expiresAt, decision: null };
      return {
        ...inCall(state, callId, (call) => ({ ...call, ask })),
        approvals: [...state.approvals, { approvalId, callId }],
      };
    }
    case 'approval/decided': {
      const { approvalId } = event.data;
      const pending = state.approvals.find((approval) => approval.approvalId === approvalId);
      const call = state.openTurn?.step?.calls.find(({ callId }) => callId === pending?.callId);
      const grant = call === undefined ? undefined : grantOf(call, event.data);
      return {
        ...(call?.ask?.kind === 'approval'
          ? inCall(state, call.callId, () => ({
              ...call,
              ask: { ...call.ask, decision: event.data } as CallAsk,
            }))
          : {}),
        approvals: state.approvals.filter((approval) => approval.approvalId !== approvalId),
        ...(grant === undefined ? {} : { grants: [...state.grants, grant] }),
      };
    }
    case 'question/asked': {
      const { questionId, callId, questions, expiresAt = null } = event.data;
      const ask: CallAsk = { kind: 'question', questionId, questions, expiresAt, answer: null };
      return {
        ...inCall(state, callId, (call) => ({ ...call, ask })),
        questions: [...state.questions, questionId],
      };
    }
    case 'question/answered': {
      const { questionId } = event.data;
      const call = state.openTurn?.step?.calls.find(
        ({ ask }) => ask?.kind === 'question' && ask.questionId === questionId,
      );
      return {
        ...(call?.ask?.kind === 'question'
          ? inCall(state, call.callId, () => ({
              ...call,
              ask: { ...call.ask, answer: event.data } as CallAsk,
            }))
          : {}),
        questions: state.questions.filter((id) => id !== questionId),
      };
    }
  }
}

/** What the decision allows for the whole session: a pattern, or these very arguments where they are known. */
function grantOf(
  { name, ask }: CallState,
  decision: EventData<'approval/decided'>,
): PermissionGrant | undefined {
  if (decision.outcome !== 'allowed' || decision.scope !== 'session') return undefined;
  if (decision.match !== undefined) return { tool: name, match: decision.match };
  if (decision.arguments !== undefined) return { tool: name, arguments: decision.arguments };
  const raw = ask?.kind === 'approval' ? ask.arguments : undefined;
  const parsed = typeof raw === 'string' ? parseArgumentsObject(raw) : undefined;
  return parsed === undefined ? undefined : { tool: name, arguments: parsed };
}

/** The time that the turn waits, once the event has changed the rest: it waits while anything that it asked is open. */
export function waited(state: SessionState, at: string): Partial<SessionState> {
  const waits = state.approvals.length + state.questions.length > 0;
  return inTurn(state, (turn) => {
    if (waits) return { ...turn, waitingSince: turn.waitingSince ?? at };
    const since = turn.waitingSince;
    const waitedMs = turn.waitedMs + (since === null ? 0 : Math.max(0, Date.parse(at) - Date.parse(since)));
    return { ...turn, waitingSince: null, waitedMs };
  });
}
