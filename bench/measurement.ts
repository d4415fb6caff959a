/** What a measurement is, and the figures that it gives. */
import type { Installation } from './installation/installation.js';
import type { ScriptedModel } from './scripted-model/scripted-model.js';

/** One line of the results. */
export interface Figure {
  readonly what: string;
  readonly value: string;
  /** As DESIGN 18 has it; absent where it names none. */
  readonly target?: string;
  readonly met?: boolean;
}

/** What measurements share. */
export interface Bench {
  readonly model: ScriptedModel;
  /** The installation that is shared by those which leave it as they found it; started and warmed up at first use. */
  shared(): Promise<Installation>;
  /** A cold one in a home of its own; it is ended after the run where the measurement leaves it running. */
  fresh(): Promise<Installation>;
}

export interface Measurement {
  /** What `--only` takes. */
  readonly name: string;
  readonly title: string;
  run(bench: Bench): Promise<readonly Figure[]>;
}

/** Milliseconds for a reader: two significant places below ten. */
export function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;
}

/** A figure in milliseconds with its target. */
export function timeFigure(what: string, valueMs: number, atMostMs?: number): Figure {
  return atMostMs === undefined
    ? { what, value: ms(valueMs) }
    : { what, value: ms(valueMs), target: `<= ${String(atMostMs)} ms`, met: valueMs <= atMostMs };
}
