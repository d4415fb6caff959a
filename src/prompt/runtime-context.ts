/**
 * The runtime context: the current state that a model should know, as the text of a user message. The caller appends it
 * when it differs from the last one.
 */
import { assertNever } from '../contract/failures.js';
import type { PermissionMode } from '../contract/session.js';

/** How every runtime context begins. */
export const RUNTIME_CONTEXT_OPENING = 'Current runtime context.';

export interface RuntimeContextInput {
  readonly workspace: string;
  /** Operating system and architecture, such as `linux x64`. */
  readonly platform: string;
  /** Milliseconds since the epoch; only its day shows, so that the context stays the same for a day. */
  readonly now: number;
  /** The IANA time zone of the user, where it is known. */
  readonly timeZone?: string;
  readonly permission: PermissionMode;
  /** Whether shell commands run in a sandbox. */
  readonly sandboxed: boolean;
  readonly model: string;
}

/** The context as text. Pure: the same input makes the same bytes. */
export function renderRuntimeContext(input: RuntimeContextInput): string {
  const { workspace, platform, now, timeZone, permission, sandboxed, model } = input;
  return [
    RUNTIME_CONTEXT_OPENING,
    `- Workspace: ${JSON.stringify(workspace)}`,
    `- Platform: ${platform}`,
    `- Date: ${dates(now, timeZone)}`,
    `- Permission mode: ${permission}. ${describePermission(permission, sandboxed)}`,
    `- Model: ${model}`,
  ].join('\n');
}

function dates(now: number, timeZone: string | undefined): string {
  const utc = `${dayIn(now, 'UTC')} (UTC)`;
  return timeZone === undefined ? utc : `${utc}, ${dayIn(now, timeZone)} where the user is (${timeZone})`;
}

/** Making a format costs more than all else here, and a session has one time zone. */
const formats = new Map<string, Intl.DateTimeFormat>();

function dayIn(now: number, timeZone: string): string {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    });
    formats.set(timeZone, format);
  }
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]));
  return ['year', 'month', 'day'].map((type) => parts.get(type as 'year') ?? '').join('-');
}

function describePermission(mode: PermissionMode, sandboxed: boolean): string {
  switch (mode) {
    case 'read-only':
      return 'You can read. Files cannot be written; shell commands and network access need approval.';
    case 'workspace-write':
      return sandboxed
        ? 'You can read and write files in the workspace and run shell commands in a sandbox; network access needs approval.'
        : 'You can read and write files in the workspace; shell commands and network access need approval.';
    case 'full-access':
      return 'Tools run without asking.';
    default:
      return assertNever(mode);
  }
}
