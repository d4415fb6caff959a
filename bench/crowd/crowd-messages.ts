/** What passes between the crowd's process and the benchmark. */

/** `join`: attaches so many followers of the stream at `url`, and further ones that never read. */
export type CrowdCommand =
  | {
      readonly kind: 'join';
      readonly url: string;
      readonly followers: number;
      readonly stalled: number;
      /** How many each of them is to get. */
      readonly chunks: number;
    }
  | { readonly kind: 'report' };

/** Of all followers together, so far. */
export interface CrowdReport {
  /** How many have seen the turn's end. */
  readonly ended: number;
  /** Chunks that came twice or out of order, and followers that did not get all of them. */
  readonly faults: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
}

export type CrowdReply =
  { readonly kind: 'joined' } | { readonly kind: 'report'; readonly report: CrowdReport };
