/**
 * The configuration as zod schemas: every key that a file, the environment or a flag can set, with its default.
 *
 * Owns shapes and defaults. Where values come from, and the messages about wrong ones, is `runtime/configuration`.
 */
import { z } from 'zod';
import { modelParametersSchema, oldWorkPolicySchema, wireSchema } from './events.js';
import { permissionModeSchema, sessionLimitsSchema, turnLimitsSchema } from './session.js';

const ordinal = z.number().int().positive();
const milliseconds = z.number().int().positive();
const TEN_YEARS_MS = 315_576_000_000;
const port = z.number().int().min(0).max(65_535);
const price = z.number().nonnegative();
const hostName = z
  .string()
  .regex(
    /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])$/,
    'must be a host name without a port, such as agents.example',
  );
const origin = z
  .string()
  .refine(isOrigin, 'must be an origin as browsers send it, such as https://app.example, without a path');

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** Prices in US dollars per million tokens; a part that is left out is priced as `input`. */
export const priceSchema = z.strictObject({
  input: price,
  output: price,
  cacheRead: price.optional(),
  cacheWrite: price.optional(),
});
export type Price = z.infer<typeof priceSchema>;

/** What a model can take beside text. */
export const modelAbilitiesSchema = z.strictObject({
  tools: z.boolean().default(true),
  images: z.boolean().default(false),
  files: z.boolean().default(false),
  reasoning: z.boolean().default(false),
});

export const modelEntrySchema = z.strictObject({
  contextWindow: ordinal.default(128_000),
  maxTokens: ordinal.default(8192),
  price: priceSchema.optional(),
  abilities: modelAbilitiesSchema.prefault({}),
});
export type ModelEntry = z.infer<typeof modelEntrySchema>;

/** A provider: which wire it speaks, where, and with which models. The key itself stays in the environment. */
export const providerEntrySchema = z.strictObject({
  wire: wireSchema,
  baseUrl: z.url({ protocol: /^https?$/ }).optional(),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
    .optional(),
  headers: z.record(z.string(), z.string()).default({}),
  /** How many attempts a step's model call has in all; the deaths of workers are not counted. */
  attempts: ordinal.default(6),
  /** How many calls run at once in a worker; null is no limit. */
  concurrency: ordinal.nullable().default(null),
  timeouts: z
    .strictObject({
      /** No bytes at all. */
      silenceMs: milliseconds.default(120_000),
      /** No content, only pings or comments. */
      stallMs: milliseconds.default(600_000),
    })
    .prefault({}),
  models: z.record(z.string(), modelEntrySchema.prefault({})).default({}),
});
export type ProviderEntry = z.infer<typeof providerEntrySchema>;

export const ruleSchema = z.strictObject({
  tool: z.string().min(1),
  match: z.record(z.string(), z.string()).optional(),
  decision: z.enum(['allow', 'deny', 'ask']),
});
/** Decides a call whose tool's name and arguments match the globs; the first that matches wins. */
export type PermissionRule = z.infer<typeof ruleSchema>;

/** A profile as it is written; what is left out comes from `extends` and then from the defaults. */
export const profileEntrySchema = z.strictObject({
  extends: z.string().optional(),
  provider: z.string().optional(),
  model: z.string().optional(),
  parameters: modelParametersSchema.optional(),
  permission: permissionModeSchema.optional(),
  rules: z.array(ruleSchema).optional(),
  tools: z.union([z.literal('*'), z.array(z.string())]).optional(),
  limits: turnLimitsSchema.partial().optional(),
  sessionLimits: sessionLimitsSchema.partial().optional(),
  /** How long an approval or a question waits; null waits for ever. */
  approvalExpiresMs: milliseconds.max(TEN_YEARS_MS).nullable().optional(),
  maxParallelToolCalls: ordinal.optional(),
  /** `auto`: commands run in a sandbox where one works on the host; `off`: never, so that they ask. */
  sandbox: z.enum(['auto', 'off']).optional(),
  /**
   * Titles of sessions that have none: `prompt` from the first prompt's text, `model` also by the session's model after
   * the first turn, `off` none.
   */
  titles: z.enum(['prompt', 'model', 'off']).optional(),
  instructions: z.string().optional(),
});
export type ProfileEntry = z.infer<typeof profileEntrySchema>;

/** A profile with nothing left open. */
export interface Profile {
  readonly name: string;
  readonly provider: string;
  readonly model: string;
  readonly parameters: z.infer<typeof modelParametersSchema>;
  readonly permission: z.infer<typeof permissionModeSchema>;
  readonly rules: readonly PermissionRule[];
  readonly tools: '*' | readonly string[];
  /** Of each turn. */
  readonly limits: z.infer<typeof turnLimitsSchema>;
  /** Of a session's turns together. */
  readonly sessionLimits: z.infer<typeof sessionLimitsSchema>;
  readonly approvalExpiresMs: number | null;
  readonly maxParallelToolCalls: number;
  readonly sandbox: 'auto' | 'off';
  readonly titles: 'prompt' | 'model' | 'off';
  /** Text of the operator for the system prompt, after Turnkeeper's own sections. */
  readonly instructions: string;
}

export const DEFAULT_PROFILE = {
  permission: 'workspace-write',
  rules: [],
  tools: '*',
  limits: { steps: 200, wallTimeMs: 3_600_000, tokens: null, costUsd: null },
  sessionLimits: { tokens: null, costUsd: null },
  approvalExpiresMs: null,
  maxParallelToolCalls: 10,
  sandbox: 'auto',
  titles: 'prompt',
  instructions: '',
  parameters: {},
} as const satisfies Omit<Profile, 'name' | 'provider' | 'model'>;

/** A search service. Its key stays in the environment. */
export const webSearchSchema = z.strictObject({
  provider: z.enum(['brave']),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
    .default('BRAVE_API_KEY'),
  /** Default: the provider's own address. */
  baseUrl: z.url({ protocol: /^https?$/ }).optional(),
});
export type WebSearchConfiguration = z.infer<typeof webSearchSchema>;

export const configurationSchema = z.strictObject({
  server: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      /** 0 takes any free port. */
      port: port.default(8787),
      bodyLimitBytes: z
        .number()
        .int()
        .min(1024)
        .default(4 * 1024 * 1024),
      /** The largest upload. */
      uploadLimitBytes: z
        .number()
        .int()
        .min(1024)
        .max(256 * 1024 * 1024)
        .default(32 * 1024 * 1024),
      /** Where sessions may have their workspace; null is any folder but system folders. */
      workspaceRoots: z.array(z.string()).nullable().default(null),
      /** `auto`: an API key is needed once one exists. `required`: always. */
      keys: z.enum(['auto', 'required']).default('auto'),
      /** Host names, beside those of loopback, that requests may be addressed to; null is any, once off loopback. */
      allowedHosts: z.array(hostName).nullable().default(null),
      /** Origins whose pages may call the API; no other page can read anything of it. */
      allowedOrigins: z.array(origin).default([]),
    })
    .prefault({}),
  home: z.string().min(1).default('~/.turnkeeper'),
  store: z.strictObject({ url: z.string().min(1).default('sqlite:sessions.db') }).prefault({}),
  engine: z
    .strictObject({
      /** `host:port` of a Temporal server; null starts the embedded one. */
      address: z.string().nullable().default(null),
      namespace: z.string().min(1).default('default'),
      /** Port of the embedded engine; 0 takes any free port. */
      port: port.default(0),
      /** In front of each workflow id, so that two installations can share a namespace. */
      deployment: z
        .string()
        .regex(/^[A-Za-z0-9._-]*$/)
        .default(''),
      /** How long an activity may be silent before its worker counts as dead; null: 3000 embedded, 10000 otherwise. */
      heartbeatMs: milliseconds.nullable().default(null),
    })
    .prefault({}),
  providers: z.record(z.string(), providerEntrySchema).default({}),
  profiles: z.record(z.string(), profileEntrySchema).default({}),
  /** Modules with tools and hooks of the operator, by paths relative to the configuration file. */
  extensions: z.array(z.string().min(1)).default([]),
  /** Where `web_search` asks; null: the tool is not offered. */
  webSearch: webSearchSchema.nullable().default(null),
  retention: z
    .strictObject({
      /** Sessions that nothing was done in for so many days are deleted; null keeps them for ever. */
      sessionsAfterDays: z.number().positive().max(36_500).nullable().default(null),
    })
    .prefault({}),
  recovery: z
    .strictObject({
      /** What becomes of a turn that stood still for long because nothing could run: `ask` a person before it changes anything, or `resume`. */
      oldWork: oldWorkPolicySchema.default('ask'),
      /** How long that is, in milliseconds. Default: a day. */
      oldWorkAfterMs: milliseconds.max(TEN_YEARS_MS).default(86_400_000),
    })
    .prefault({}),
  webhooks: z
    .strictObject({
      /** Whether webhooks may be addressed to hosts that are not on the public internet. */
      allowPrivateAddresses: z.boolean().default(false),
    })
    .prefault({}),
});
export type Configuration = z.infer<typeof configurationSchema>;
