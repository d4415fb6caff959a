/** What the HTTP API is made from. Everything with a side effect, the clock included, comes in here. */
import type { Logger } from 'pino';
import type { Profile } from '../contract/configuration.js';
import type { ModelResource, Readiness } from '../contract/http.js';
import type { Clock, IdSource } from '../contract/ids.js';
import type { TurnNudges } from '../contract/turn-engine.js';
import type { SessionStore } from '../store/session-store.js';

/** The models that sessions and prompts may name. */
export interface ModelDirectory {
  has(provider: string, model: string): boolean;
  list(): readonly ModelResource[];
}

/** The tools of this deployment, as far as decisions about their calls need them. */
export interface ToolDirectory {
  /** What is wrong with arguments that a person puts in the place of the asked ones; undefined where nothing is. */
  checkArguments(tool: string, args: unknown, asked: unknown): string | undefined;
}

/** What can be said of a job before it is accepted, by those who will carry it out. */
export interface JobChecks {
  /** What is wrong with a JSON Schema; undefined where nothing is. */
  outputSchema(schema: Readonly<Record<string, unknown>>): string | undefined;
  /** Why nothing can ever be posted to the address; undefined where it may be possible. */
  webhookUrl(url: string): string | undefined;
}

export interface ApiSettings {
  readonly version: string;
  /** The largest JSON body, in bytes. */
  readonly bodyLimitBytes: number;
  /** The largest upload, in bytes; default `UPLOAD_LIMIT_BYTES`. */
  readonly uploadLimitBytes?: number;
  /** Absolute folders in which sessions may have their workspace; null is any folder but system folders. */
  readonly workspaceRoots: readonly string[] | null;
  /** Folders in which no session may choose its workspace: the home, whose databases hold every session. */
  readonly closedFolders?: readonly string[];
  /** A session without a workspace of its own gets `<workspacesFolder>/<uid>`. */
  readonly workspacesFolder: string;
  /** Host names, without a port, that requests may be addressed to; null is any. */
  readonly allowedHosts: readonly string[] | null;
  /** Origins whose pages may call the API and read its answers; default none. */
  readonly allowedOrigins?: readonly string[];
  /** `auto`, the default: an API key is needed once the store has one. */
  readonly keys?: 'auto' | 'required';
  /** How often the keys of open streams are looked at again; default `KEY_CHECK_INTERVAL_MS`. */
  readonly keyCheckIntervalMs?: number;
  /** How often a stream sends `ping`; default `PING_INTERVAL_MS`. */
  readonly pingIntervalMs?: number;
}

/** The host names of a server that is bound to loopback (DNS rebinding reaches it by any other). */
export const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

export interface AppDeps {
  readonly store: SessionStore;
  /** Told after a commit; what it misses, the sweeper makes good. */
  readonly engine: TurnNudges;
  /** What `/metrics` says. */
  readonly metrics: { readonly contentType: string; read(): Promise<string> };
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly models: ModelDirectory;
  readonly tools: ToolDirectory;
  readonly jobs: JobChecks;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: ApiSettings;
  readiness(): Promise<Readiness>;
  /** True from the start of a shutdown: what would begin new work is refused with `DRAINING`. */
  isDraining(): boolean;
  isEngineUp(): boolean;
}
