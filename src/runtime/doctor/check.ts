/** What a check of the doctor is, and what it finds. */
import type { Configuration } from '../../contract/configuration.js';

/** `warning`: it works, but less well than it could, or not for long. `problem`: something does not work. */
export type FindingStatus = 'ok' | 'warning' | 'problem';

export interface Finding {
  readonly status: FindingStatus;
  /** A sentence for a person: what is so, and what to do where that is not well. */
  readonly message: string;
}

export interface CheckContext {
  readonly configuration: Configuration;
  readonly env: NodeJS.ProcessEnv;
}

/** Looks at one thing and leaves nothing behind. What is thrown counts as a problem. */
export interface Check {
  /** What is looked at, in a word or two. */
  readonly name: string;
  run(context: CheckContext): Promise<Finding>;
}

export const ok = (message: string): Finding => ({ status: 'ok', message });
export const warning = (message: string): Finding => ({ status: 'warning', message });
export const problem = (message: string): Finding => ({ status: 'problem', message });

/** Several findings as one: as bad as the worst of them, and with all their messages. */
export function worstOf(findings: readonly Finding[]): Finding {
  const statuses = findings.map(({ status }) => status);
  const status = statuses.includes('problem') ? 'problem' : statuses.includes('warning') ? 'warning' : 'ok';
  return { status, message: findings.map(({ message }) => message).join(' ') };
}
