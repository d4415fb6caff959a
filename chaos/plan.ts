/**
 * What a round is made of, all of it drawn from the seed: what the sessions do, what the model answers, and what is broken
 * when. Only the moment at which two of these meet is left to the machine.
 */
import type { Random } from './random.js';

/** A step of the model in one turn: calls, or a last text. Each call has an id of its own. */
export interface PlannedStep {
  readonly kind: 'reads' | 'effect' | 'question' | 'text';
  /** How often the provider fails before it answers. */
  readonly failures: readonly ('rate-limit' | 'cut')[];
  /** Pieces of the stream, and the time between them. */
  readonly pieces: number;
  readonly delayMs: number;
  /** Of an effect: how long its command takes after it. */
  readonly commandMs: number;
}

export type Move =
  | {
      readonly kind: 'prompt' | 'steer' | 'inject';
      readonly id: string;
      readonly steps: readonly PlannedStep[];
    }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'pause'; readonly ms: number };

export interface SessionPlan {
  readonly profile: 'default' | 'asking';
  readonly moves: readonly Move[];
}

export type FaultKind =
  | 'kill-server'
  | 'kill-engine'
  | 'kill-both'
  | 'stop-server'
  | 'stop-engine'
  | 'terminate-server'
  | 'cut-clients'
  | 'cut-model'
  | 'cut-engine'
  | 'stall-disk';

export interface Fault {
  readonly kind: FaultKind;
  /** Before it, in milliseconds. */
  readonly afterMs: number;
  /** How long it lasts, or how long a killed server stays away. */
  readonly ms: number;
}

export interface RoundPlan {
  readonly sessions: readonly SessionPlan[];
  readonly faults: readonly Fault[];
}

export interface PlanOptions {
  readonly sessions: number;
  readonly faults: number;
  /** Whether the engine is somewhere else, so that the way to it can be cut. */
  readonly external: boolean;
}

export function planRound(random: Random, round: number, options: PlanOptions): RoundPlan {
  return {
    sessions: Array.from({ length: options.sessions }, (_, index) =>
      planSession(random.fork(), `r${String(round)}s${String(index)}`),
    ),
    faults: Array.from({ length: options.faults }, () => planFault(random, options)),
  };
}

function planSession(random: Random, name: string): SessionPlan {
  const moves: Move[] = [];
  const prompts = random.between(3, 8);
  for (let n = 0; n < prompts; n += 1) {
    const kind = random.pick(['prompt', 'prompt', 'prompt', 'steer', 'inject']);
    moves.push({ kind, id: `${name}p${String(n)}`, steps: planSteps(random) });
    if (random.chance(0.15)) moves.push({ kind: 'pause', ms: random.between(0, 300) }, { kind: 'cancel' });
    moves.push({ kind: 'pause', ms: random.between(0, 2500) });
  }
  return { profile: random.chance(0.4) ? 'asking' : 'default', moves };
}

function planSteps(random: Random): PlannedStep[] {
  const steps = Array.from({ length: random.between(0, 3) }, () =>
    planStep(random, random.pick(['reads', 'effect', 'effect', 'question'])),
  );
  return [...steps, planStep(random, 'text')];
}

function planStep(random: Random, kind: PlannedStep['kind']): PlannedStep {
  return {
    kind,
    failures: random.chance(0.15) ? [random.pick(['rate-limit', 'cut'])] : [],
    pieces: random.between(1, 12),
    delayMs: random.between(0, 60),
    commandMs: random.pick([0, 0, 100, 400, 1200]),
  };
}

function planFault(random: Random, { external }: PlanOptions): Fault {
  const kind = random.pick([
    'kill-server',
    'kill-server',
    'kill-server',
    'kill-engine',
    'kill-engine',
    'kill-both',
    'stop-server',
    'stop-engine',
    'terminate-server',
    'cut-clients',
    'cut-model',
    'stall-disk',
    ...(external ? (['cut-engine', 'cut-engine'] as const) : []),
  ]);
  const [least, most] = LASTING_MS[kind];
  return { kind, afterMs: random.between(100, 1800), ms: random.between(least, most) };
}

/** Some last less, some longer than the heartbeat limit of 3 s. */
const LASTING_MS: Readonly<Record<FaultKind, readonly [number, number]>> = {
  'kill-server': [0, 600],
  'kill-engine': [0, 0],
  'kill-both': [0, 600],
  'stop-server': [200, 5000],
  'stop-engine': [200, 5000],
  'terminate-server': [0, 300],
  'cut-clients': [0, 500],
  'cut-model': [0, 500],
  'cut-engine': [100, 4000],
  'stall-disk': [50, 1500],
};
