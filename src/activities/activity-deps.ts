/** What the activities are made of; the composition root brings it. */
import type { Logger } from 'pino';
import type { Profile } from '../contract/configuration.js';
import type { Clock, IdSource, SessionUid } from '../contract/ids.js';
import type { TurnNudges } from '../contract/turn-engine.js';
import type { ModelCatalog } from '../model/model-catalog.js';
import type { assemblePrompt } from '../prompt/assemble-prompt.js';
import type { SessionStore } from '../store/session-store.js';
import type { ExecutionProvider } from '../tools/execution-provider.js';
import type { SessionJobs } from '../tools/jobs/session-jobs.js';
import type { ToolPipeline } from '../tools/pipeline.js';
import type { ToolRegistry } from '../tools/registry.js';
import type { GuardedFetch } from '../tools/web/guarded-fetch.js';
import type { TurnHooks } from './turn-hooks.js';

export interface ActivityDeps {
  readonly store: SessionStore;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly models: ModelCatalog;
  readonly assemblePrompt: typeof assemblePrompt;
  /** Operating system and architecture, as the model is told. */
  readonly platform: string;
  readonly registry: ToolRegistry;
  readonly pipeline: ToolPipeline;
  readonly turnHooks: TurnHooks;
  readonly execution: ExecutionProvider;
  /** The background commands of a session. */
  readonly jobsOf: (uid: SessionUid) => SessionJobs;
  /** Ends the commands that an earlier attempt of a call left running. */
  readonly endLeftovers: (idempotencyKey: string) => Promise<void>;
  /** How webhooks are sent. */
  readonly fetchWebhook: GuardedFetch;
  /** Starts the turn that the end of another one opened, and what follows that one. */
  readonly engine: TurnNudges;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** This host, whose tool queue has the workspaces under its care. */
  readonly hostId: string;
  /** Real paths that no tool touches, but for the session's own workspace in them. */
  readonly protectedPaths: readonly string[];
  /** How long an activity may be silent before it counts as lost. */
  readonly heartbeatMs: number;
}
