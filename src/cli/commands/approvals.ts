/** `approvals`: what waits for consent, across sessions, and the decisions. */
import type { Client, NewDecision } from '../../client/client.js';
import type { ApprovalResource } from '../../contract/http-asks.js';
import { listAsks, type ListAsksOptions, showAsk } from '../ask-list.js';
import { approvalDetails, approvalStatus, inOneLine, whatItDoes } from '../ask-text.js';
import { UsageError } from '../cli-error.js';
import type { CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';
import { openIds } from '../open-ids.js';

export interface DecideOptions {
  readonly note?: string;
  /** Of `allow`. */
  readonly forSession?: boolean;
  /** JSON, of `allow`. */
  readonly arguments?: string;
  /** `argument=glob`, of `allow`. */
  readonly match?: readonly string[];
}

const WHAT_CHARACTERS = 60;

/** Lists approvals, newest first. */
export async function listApprovals(options: ListAsksOptions, io: CliIo, client: Client): Promise<number> {
  return listAsks(options, io, {
    fetch: (query) => client.approvals(query),
    headings: HEADINGS,
    row,
    nothing: 'Nothing waits for an approval.',
  });
}

const HEADINGS = ['APPROVAL', 'SESSION', 'STATUS', 'ASKED', 'TOOL', 'WHAT'];

function row(approval: ApprovalResource): string[] {
  const { approvalId, sessionId, askedAt, tool } = approval;
  const what = inOneLine(whatItDoes(approval), WHAT_CHARACTERS);
  return [approvalId, sessionId, approvalStatus(approval), askedAt, inOneLine(tool, WHAT_CHARACTERS), what];
}

/** Prints all that there is to know about an approval. */
export async function showApproval(
  id: string,
  options: { readonly json?: boolean },
  io: CliIo,
  client: Client,
): Promise<number> {
  const [approvalId = id] = await openApprovals([id], client);
  return showAsk(await client.approval(approvalId), options, io, approvalDetails);
}

/** Allows or denies approvals, each on its own; 0 where all of them stand as asked. @throws UsageError. */
export async function decideApprovals(
  { ids, outcome }: { readonly ids: readonly string[]; readonly outcome: NewDecision['outcome'] },
  options: DecideOptions,
  io: CliIo,
  client: Client,
): Promise<number> {
  const decision = decisionOf(outcome, options);
  if (ids.length > 1 && decision.arguments !== undefined) {
    throw new UsageError('--arguments belong to one call; name one approval.');
  }
  const approvals = await openApprovals(ids, client);
  const [first] = approvals;
  if (approvals.length === 1 && first !== undefined) {
    // Alone it is refused with all that there is to say.
    const { decision: standing } = await client.decideApproval(first, decision);
    await io.stdout.write(`${standing?.outcome ?? outcome} ${first}\n`);
    return EXIT.completed;
  }
  const { items } = await client.decideApprovals({
    decisions: approvals.map((approvalId) => ({ approvalId, ...decision })),
  });
  let code: number = EXIT.completed;
  for (const { approvalId, status, code: problem = 'INTERNAL' } of items) {
    if (status === 200) {
      await io.stdout.write(`${outcome === 'allow' ? 'allowed' : 'denied'} ${approvalId}\n`);
    } else {
      code = EXIT.error;
      await io.stderr.write(`turnkeeper: ${approvalId} is not decided: ${problem}\n`);
    }
  }
  return code;
}

function decisionOf(outcome: NewDecision['outcome'], options: DecideOptions): NewDecision {
  const { note, forSession = false, match = [] } = options;
  if (match.length > 0 && !forSession) {
    throw new UsageError('--match says which later calls are allowed too, and so needs --for-session.');
  }
  return {
    outcome,
    ...(forSession ? { scope: 'session' } : {}),
    ...(options.arguments === undefined ? {} : { arguments: argumentsOf(options.arguments) }),
    ...(match.length === 0 ? {} : { match: Object.fromEntries(match.map(patternOf)) }),
    ...(note === undefined ? {} : { note }),
  };
}

function argumentsOf(text: string): NonNullable<NewDecision['arguments']> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as NonNullable<NewDecision['arguments']>;
    }
  } catch {
    // Said below, together with what is JSON and no object.
  }
  throw new UsageError('--arguments must be a JSON object, such as {"command": "ls"}.');
}

function patternOf(text: string): [string, string] {
  const [, name, glob] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || glob === undefined) {
    throw new UsageError(`"${text}" is no pattern; it looks like command=npm *.`);
  }
  return [name, glob];
}

function openApprovals(names: readonly string[], client: Client): Promise<readonly string[]> {
  return openIds('approval', names, async (cursor) => {
    const { items, nextCursor } = await client.approvals({ limit: 1000, ...cursor });
    return { ids: items.map(({ approvalId }) => approvalId), nextCursor };
  });
}
