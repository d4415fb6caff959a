/** What a tool is given on this host: the same for a call that runs and for the preview of one that is asked about. */
import type { StepRef } from '../contract/agent-turn.js';
import type { ToolChunk } from '../contract/chunks.js';
import type { Answer } from '../contract/events.js';
import type { SessionState } from '../core/session-state.js';
import type { ToolContext } from '../tools/tool.js';
import type { ActivityDeps } from './activity-deps.js';
import type { TurnSettings } from './turn-settings.js';

export interface ToolContextParts {
  readonly ref: StepRef & { readonly index: number };
  readonly callId: string;
  readonly state: SessionState;
  readonly settings: TurnSettings;
  readonly signal: AbortSignal;
  /** Versions of files that earlier calls of the step observed, by real path. Default: none. */
  readonly observed?: ReadonlyMap<string, string>;
  /** Default: none. */
  readonly answers?: readonly Answer[];
  /** Shows what a running call writes. Default: nobody watches. */
  readonly show?: (chunk: ToolChunk) => void;
}

export function toolContext(deps: ActivityDeps, parts: ToolContextParts): ToolContext {
  const { ref, callId, state, settings, signal, observed, answers = [], show = () => undefined } = parts;
  return {
    signal,
    idempotencyKey: idempotencyKey(ref),
    callId,
    workspace: settings.workspace,
    protectedPaths: deps.protectedPaths,
    execution: deps.execution,
    sandbox: settings.sandbox,
    jobs: deps.jobsOf(ref.uid),
    answers,
    observedVersion: (path) => observed?.get(path) ?? state.observedFiles[path],
    output: (stream, text) => {
      show({ type: 'tool-output', stream, text });
    },
    progress: (progress) => {
      show({ type: 'tool-progress', ...progress });
    },
    saveBlob: (bytes, mediaType) => deps.store.saveBlob(ref.uid, bytes, mediaType),
    readBlob: async (sha256) => (await deps.store.readBlob(ref.uid, sha256))?.bytes,
  };
}

/** The same for each attempt of a call. */
export function idempotencyKey({ uid, turn, step, index }: ToolContextParts['ref']): string {
  return `${uid}/${[turn, step, index].join('.')}`;
}
