/**
 * What a configuration makes before anything on disk is touched: the models, the profiles, and the tools with the extensions
 * that it names.
 */
import type { Logger } from 'pino';
import type { Profile } from '../contract/configuration.js';
import { createModelCatalog, type ModelCatalog } from '../model/model-catalog.js';
import type { LoadedConfiguration } from './configuration/load-configuration.js';
import {
  checkProfilePrices,
  checkProfileProviders,
  resolveProfiles,
} from './configuration/resolve-profiles.js';
import { assembleTools, type ToolParts } from './tool-parts.js';

export interface ConfiguredParts {
  readonly models: ModelCatalog;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly tools: ToolParts;
}

export interface ConfiguredPartsOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly logger: Logger;
  /** How long the demo provider waits before each word, in milliseconds. */
  readonly demoWordDelayMs?: number | undefined;
}

/** @throws ConfigurationError `PROFILE_INVALID` or `EXTENSION_INVALID`: no server starts with such a configuration. */
export async function assembleConfigured(
  loaded: Pick<LoadedConfiguration, 'configuration' | 'file'>,
  { env, logger, demoWordDelayMs }: ConfiguredPartsOptions,
): Promise<ConfiguredParts> {
  const { configuration } = loaded;
  const models = createModelCatalog(
    configuration.providers,
    env,
    demoWordDelayMs === undefined ? {} : { demoWordDelayMs },
  );
  const profiles = resolveProfiles(configuration, env);
  checkProfileProviders(profiles, Object.keys(models.providers));
  checkProfilePrices(profiles, models.list());
  return {
    models,
    profiles: new Map(Object.entries(profiles)),
    tools: await assembleTools(loaded, env, logger),
  };
}
