/**
 * What callers do in a round: sessions with prompts, steers, injects and cancels, people who decide, and followers that
 * stay. Everything that the server has promised by an answer is kept, to be held against the logs.
 */
import { setMaxListeners } from 'node:events';
import { ApiError } from '../src/client/api-error.js';
import type { Client } from '../src/client/client.js';
import type { FollowItem } from '../src/client/follow.js';
import type { SessionResource } from '../src/contract/http.js';
import { insist } from './careful.js';
import { promptText } from './model.js';
import type { Move, SessionPlan } from './plan.js';
import type { Random } from './random.js';

/** A prompt that the server has accepted. */
export interface AcceptedPrompt {
  readonly requestId: string;
  readonly itemId: string;
  readonly mode: 'queue' | 'steer' | 'inject';
}

/** A session with what was promised to its callers, and what its follower was shown. */
export interface ChaosSession {
  readonly id: string;
  readonly accepted: readonly AcceptedPrompt[];
  /** The outcomes by approval, as they were answered. */
  readonly decisions: ReadonlyMap<string, 'allow' | 'deny'>;
  readonly shown: readonly FollowItem[];
}

export interface Workload {
  /** All moves are done. */
  readonly done: Promise<void>;
  readonly sessions: readonly ChaosSession[];
  /** Waits until nothing runs, and names the sessions that are not at rest once nothing has moved for so long. */
  rest(limitMs: number): Promise<readonly string[]>;
  /** Ends people and followers, once these have seen all. */
  stop(): Promise<void>;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const CATCH_UP_MS = 20_000;

export function startWorkload(
  client: Client,
  plans: readonly SessionPlan[],
  { name, workspace, random }: { readonly name: string; readonly workspace: string; readonly random: Random },
): Workload {
  const stopping = new AbortController();
  // Each session listens.
  setMaxListeners(0, stopping.signal);
  const sessions = plans.map((plan, index) => new Session(client, `${name}s${String(index)}`, plan));
  const people = decide(client, sessions, random, stopping.signal);
  const done = Promise.all(sessions.map((session) => session.run(workspace, stopping.signal))).then(
    () => undefined,
  );
  return {
    done,
    sessions,
    rest: async (limitMs) => {
      let [grown, since] = [0, Date.now()];
      for (;;) {
        const found = await Promise.all(sessions.map(({ id }) => insist(() => client.session(id))));
        const busy = found.filter((session) => !isAtRest(session)).map(({ id }) => id);
        const events = found.reduce((sum, { headSeq }) => sum + headSeq, 0);
        // A slow machine is no standstill.
        if (events !== grown) [grown, since] = [events, Date.now()];
        if (busy.length === 0 || Date.now() > since + limitMs) return busy;
        await pause(200);
      }
    },
    stop: async () => {
      await Promise.all(sessions.map((session) => session.caughtUp(CATCH_UP_MS)));
      stopping.abort();
      await people;
      await Promise.all(sessions.map(({ following }) => following));
    },
  };
}

/** What was injected may wait for a turn that nobody opens. */
function isAtRest({ status, queue }: SessionResource): boolean {
  return status === 'idle' && queue.every(({ target }) => target === 'next-step');
}

class Session implements ChaosSession {
  readonly accepted: AcceptedPrompt[] = [];
  readonly decisions = new Map<string, 'allow' | 'deny'>();
  readonly shown: FollowItem[] = [];
  following: Promise<void> = Promise.resolve();

  constructor(
    private readonly client: Client,
    readonly id: string,
    private readonly plan: SessionPlan,
  ) {}

  async run(workspace: string, signal: AbortSignal): Promise<void> {
    const { id, client, plan } = this;
    await insist(() => client.createSession({ id, workspace, profile: plan.profile }));
    this.following = this.#follow(signal);
    for (const move of plan.moves) await this.#move(move);
  }

  async caughtUp(limitMs: number): Promise<void> {
    const { headSeq } = await insist(() => this.client.session(this.id));
    const until = Date.now() + limitMs;
    while (Date.now() < until) {
      const last = this.shown.findLast((item) => item.type === 'event');
      if (last !== undefined && last.event.seq >= headSeq) return;
      await pause(50);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      for await (const item of this.client.follow(this.id, { signal })) this.shown.push(item);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #move(move: Move): Promise<void> {
    switch (move.kind) {
      case 'pause':
        await pause(move.ms);
        return;
      case 'cancel':
        await insist(() => this.client.cancel(this.id));
        return;
      case 'prompt':
      case 'steer':
      case 'inject': {
        const mode = move.kind === 'prompt' ? 'queue' : move.kind;
        const prompt = { requestId: move.id, mode, text: promptText(move.id, move.steps) } as const;
        // Twice at once, as a caller does that was not sure; both have to be answered with the same item.
        const answers = await Promise.all([
          insist(() => this.client.prompt(this.id, prompt)),
          insist(() => this.client.prompt(this.id, prompt)),
        ]);
        for (const { itemId } of answers) this.accepted.push({ requestId: move.id, itemId, mode });
      }
    }
  }
}

/** People who look at what waits for them, and decide after a while. */
async function decide(
  client: Client,
  sessions: readonly Session[],
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  const isAborted = (): boolean => signal.aborted;
  while (!isAborted()) {
    await pause(random.between(50, 400));
    try {
      for (const { approvalId, sessionId } of (await client.approvals()).items) {
        const session = sessions.find(({ id }) => id === sessionId);
        const outcome = random.chance(0.75) ? 'allow' : 'deny';
        await client.decideApproval(approvalId, { outcome });
        session?.decisions.set(approvalId, outcome);
      }
      for (const { questionId, questions } of (await client.questions()).items) {
        const answers = questions.map(({ id }) => ({ id, selected: ['yes'] }));
        await client.answerQuestion(questionId, { answers });
      }
    } catch (error) {
      // Nobody answers, or it was decided, closed or gone meanwhile; whatever else is a fault.
      if (error instanceof ApiError && error.status >= 500 && error.status !== 503) throw error;
    }
  }
}
