/** What the scripted model plays, and what passes between its process and the benchmark. */

/** A tool call as the model writes it. */
export interface PlayedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/**
 * `turn`: so many answers that make one call each, then an answer in text, and so on from the start. `stamps`: one
 * answer in text whose chunks each are the instant (`nowMs`) at which they are sent, followed by a space. `endless`: text
 * until the client leaves. `silent`: takes the request and answers nothing. All but the last send without delay of
 * their own beyond the given interval.
 */
export type Script =
  | { readonly kind: 'turn'; readonly steps: number; readonly call: PlayedCall }
  | { readonly kind: 'stamps'; readonly count: number; readonly intervalMs: number }
  | { readonly kind: 'endless'; readonly intervalMs: number }
  | { readonly kind: 'silent' };

/** A request that came; instants as of `nowMs`. */
export interface ModelRequest {
  /** When its headers were read. */
  readonly arrivedAt: number;
  /** When its socket closed before the answer was complete; null where it has not. */
  readonly brokenAt: number | null;
}

/** To the process. `play` begins the script anew and forgets the requests before; `report` changes nothing. */
export type ModelCommand = { readonly id: number } & (
  { readonly kind: 'play'; readonly script: Script } | { readonly kind: 'report' }
);

/** From the process. */
export type ModelReply =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'done'; readonly id: number; readonly requests: readonly ModelRequest[] };
