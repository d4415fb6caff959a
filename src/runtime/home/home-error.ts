/**
 * The errors of the home.
 */

export type HomeErrorCode =
  /** Cannot be made, entered or written. */
  | 'HOME_UNUSABLE'
  /** Others can enter it, and it holds what is not Turnkeeper's, so its mode is not for Turnkeeper to change. */
  | 'HOME_NOT_PRIVATE'
  /** Another process has it. */
  | 'HOME_LOCKED';

/** The home cannot be used; the message says why and what to do. */
export class HomeError extends Error {
  override readonly name: string = 'HomeError';
  readonly code: HomeErrorCode;

  constructor(code: HomeErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Who has a home, as far as it has said so. */
export interface HomeHolder {
  readonly pid?: number;
  readonly url?: string;
  /** ISO 8601. */
  readonly startedAt?: string;
}

/** Another process has the home. Always has the code `HOME_LOCKED`. */
export class HomeLockedError extends HomeError {
  override readonly name = 'HomeLockedError';
  readonly home: string;
  readonly holder: HomeHolder;

  constructor(home: string, holder: HomeHolder) {
    const who = holder.pid === undefined ? 'another process' : `process ${String(holder.pid)}`;
    const where = holder.url === undefined ? '' : ` at ${holder.url}`;
    const since = holder.startedAt === undefined ? '' : `, since ${holder.startedAt}`;
    super(
      'HOME_LOCKED',
      `The home ${home} is in use by ${who}${where}${since}. Use that server, stop it, or set another home (TURNKEEPER_HOME or --home).`,
    );
    this.home = home;
    this.holder = holder;
  }
}
