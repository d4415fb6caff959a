/** What must hold over the logs of a round, whatever was done to the installation meanwhile. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTranscript, foldTranscript, type Transcript } from '../src/client/render.js';
import type { EventOf, SessionEvent } from '../src/contract/events.js';
import { checkLog } from '../test/support/log-invariants.js';
import type { Restart } from './installation.js';
import { effectId } from './model.js';
import type { ChaosSession } from './workload.js';

/** What the logs of a round amount to. */
export interface Tally {
  turns: number;
  steps: number;
  tools: number;
  prompts: number;
  approvals: number;
  retries: number;
  lostAttempts: number;
  unknownOutcomes: number;
  effectsDoubled: number;
  promptsLost: number;
  textsShownTwice: number;
  violations: string[];
}

export function emptyTally(): Tally {
  return {
    turns: 0,
    steps: 0,
    tools: 0,
    prompts: 0,
    approvals: 0,
    retries: 0,
    lostAttempts: 0,
    unknownOutcomes: 0,
    effectsDoubled: 0,
    promptsLost: 0,
    textsShownTwice: 0,
    violations: [],
  };
}

/** Holds one session's log against the rules, its callers' promises, its workspace and its follower. */
export function checkSession(
  tally: Tally,
  session: ChaosSession,
  events: readonly SessionEvent[],
  workspace: string,
): void {
  const say = (what: string): void => {
    tally.violations.push(`${session.id}: ${what}`);
  };
  for (const violation of checkLog(events)) say(violation);
  count(tally, events);
  checkPrompts(tally, session, events, say);
  checkDecisions(session, events, say);
  checkEffects(tally, events, { workspace, say });
  checkFollower(tally, session, events, say);
}

type Say = (what: string) => void;

function count(tally: Tally, events: readonly SessionEvent[]): void {
  for (const { type, data } of events) {
    if (type === 'turn/end') tally.turns += 1;
    if (type === 'step/end') tally.steps += 1;
    if (type === 'tool/result') tally.tools += 1;
    if (type === 'approval/decided') tally.approvals += 1;
    if (type === 'llm/retry') tally.retries += 1;
    if (type === 'assistant/attempt' && (data as { outcome: string }).outcome === 'lost')
      tally.lostAttempts += 1;
  }
}

function checkPrompts(
  tally: Tally,
  { accepted }: ChaosSession,
  events: readonly SessionEvent[],
  say: Say,
): void {
  const splices = events.filter((event) => event.type === 'agent/inbox/spliced');
  const itemOf = new Map<string, string[]>();
  const claimed = new Set<string>();
  for (const { data } of splices) {
    for (const { requestId, itemId } of data.inserted ?? []) {
      itemOf.set(requestId, [...(itemOf.get(requestId) ?? []), itemId]);
    }
    if (data.outcome === 'claimed') for (const itemId of data.removed ?? []) claimed.add(itemId);
  }
  for (const { requestId, itemId, mode } of accepted) {
    const items = itemOf.get(requestId) ?? [];
    if (items.length !== 1 || items[0] !== itemId) {
      tally.promptsLost += items.includes(itemId) ? 0 : 1;
      say(
        `prompt ${requestId} was accepted as ${itemId} and stands in the log as ${items.join(', ') || 'nothing'}`,
      );
    } else if (!claimed.has(itemId) && mode !== 'inject') {
      tally.promptsLost += 1;
      say(`prompt ${requestId} was accepted and no turn has taken it`);
    }
  }
  tally.prompts += new Set(accepted.map(({ requestId }) => requestId)).size;
}

function checkDecisions({ decisions }: ChaosSession, events: readonly SessionEvent[], say: Say): void {
  const decided = new Map(
    events.flatMap((event) =>
      event.type === 'approval/decided' ? [[event.data.approvalId as string, event.data.outcome]] : [],
    ),
  );
  for (const [approvalId, outcome] of decisions) {
    const stands = decided.get(approvalId);
    const wanted = outcome === 'allow' ? 'allowed' : 'denied';
    if (stands !== wanted)
      say(`approval ${approvalId} was answered ${wanted} and stands as ${String(stands)}`);
  }
}

function checkEffects(
  tally: Tally,
  events: readonly SessionEvent[],
  { workspace, say }: { readonly workspace: string; readonly say: Say },
): void {
  const lines = textOf(join(workspace, 'effects.log')).split('\n');
  const results = new Map(
    events.flatMap((event) =>
      event.type === 'tool/result' ? [[event.data.callId as string, event.data]] : [],
    ),
  );
  for (const event of events) {
    if (event.type !== 'tool/call' || event.data.name !== 'bash') continue;
    const id = effectId(typeof event.data.arguments === 'string' ? event.data.arguments : '');
    if (id === undefined) continue;
    const times = lines.filter((line) => line === id).length;
    const result = results.get(event.data.callId);
    if (result?.error?.code === 'TOOL_OUTCOME_UNKNOWN') tally.unknownOutcomes += 1;
    if (times > 1) {
      tally.effectsDoubled += 1;
      say(`the effect ${id} happened ${String(times)} times`);
    }
    if (times === 0 && result?.isError === false) say(`the effect ${id} is told as done and did not happen`);
    if (times > 0 && UNTOUCHED.includes(result?.error?.code ?? '')) {
      say(`the effect ${id} happened, and its result says ${String(result?.error?.code)}`);
    }
  }
}

/** Results that say that the call did not run. */
const UNTOUCHED = ['DENIED', 'ABORTED_BEFORE_DISPATCH', 'TOOL_NOT_STARTED', 'APPROVAL_EXPIRED'];

function checkFollower(
  tally: Tally,
  { shown }: ChaosSession,
  events: readonly SessionEvent[],
  say: Say,
): void {
  const seqs = shown.flatMap((item) => (item.type === 'event' ? [item.event.seq] : []));
  if (seqs.some((seq, index) => seq !== index)) say('the follower has an event twice, or not in order');
  if (seqs.length < events.length)
    say(`the follower has ${String(seqs.length)} of ${String(events.length)} events`);
  const seen = lookOf(shown.reduce(foldTranscript, createTranscript()));
  const stored = lookOf(
    events.reduce<Transcript>(
      (all, event) => foldTranscript(all, { type: 'event', id: '', event } as never),
      createTranscript(),
    ),
  );
  if (seen !== stored) {
    tally.textsShownTwice += 1;
    say(`the follower was shown something else than is stored:\n${seen}\ninstead of\n${stored}`);
  }
}

/** The texts of a transcript, in its order. */
function lookOf({ entries }: Transcript): string {
  return JSON.stringify(
    entries.map((entry) => {
      switch (entry.kind) {
        case 'user':
          return entry.text;
        case 'assistant':
          return entry.blocks;
        case 'call':
          return [entry.callId, entry.result?.text];
        default:
          return entry.kind;
      }
    }),
  );
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Nothing had an effect yet.
    return '';
  }
}

/** How long after each restart each turn that ran took to go on: from the kill, and from when the server was ready. */
export function recoveryTimes(
  events: readonly SessionEvent[],
  restarts: readonly Restart[],
): { readonly fromKill: number; readonly fromReady: number }[] {
  return restarts.flatMap(({ killedAt, readyAt }) => {
    const before = events.filter(({ at }) => Date.parse(at) <= killedAt);
    if (!isAtWork(before, killedAt)) return [];
    const next = events.find((event) => Date.parse(event.at) > killedAt && !OF_PEOPLE.has(event.type));
    if (next === undefined) return [];
    const at = Date.parse(next.at);
    return [{ fromKill: at - killedAt, fromReady: Math.max(0, at - readyAt) }];
  });
}

/** What comes from callers says nothing of the work. */
const OF_PEOPLE: ReadonlySet<string> = new Set([
  'agent/inbox/spliced',
  'approval/decided',
  'question/answered',
  'turn/cancel-requested',
]);

/** Whether the log's last turn was at work then: open, waiting for nobody, and not for its provider. */
function isAtWork(events: readonly SessionEvent[], now: number): boolean {
  const start = events.findLastIndex(({ type }) => type === 'turn/start');
  if (start === -1) return false;
  const turn = events.slice(start);
  if (turn.some(({ type }) => type === 'turn/end')) return false;
  const of = <T extends SessionEvent['type']>(type: T) =>
    turn.filter((event): event is EventOf<T> => event.type === type);
  const open =
    of('approval/asked').length -
    of('approval/decided').length +
    of('question/asked').length -
    of('question/answered').length;
  const retry = of('llm/retry').at(-1);
  return open === 0 && (retry === undefined || Date.parse(retry.data.retryAt) <= now);
}
