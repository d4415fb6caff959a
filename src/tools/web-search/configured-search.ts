/** From the configuration to the search service that it names. */
import type { WebSearchConfiguration } from '../../contract/configuration.js';
import { type BraveSearchOptions, createBraveSearch } from './brave-search.js';
import type { SearchProvider } from './search-provider.js';

const SERVICES: Readonly<
  Record<WebSearchConfiguration['provider'], (options: BraveSearchOptions) => SearchProvider>
> = { brave: createBraveSearch };

/**
 * The service that the configuration names.
 *
 * @param env where its key is, read at each query.
 */
export function createConfiguredSearch(
  { provider, apiKeyEnv, baseUrl }: WebSearchConfiguration,
  env: Readonly<Record<string, string | undefined>>,
): SearchProvider {
  return SERVICES[provider]({
    apiKey: () => env[apiKeyEnv],
    apiKeyEnv,
    ...(baseUrl === undefined ? {} : { baseUrl }),
  });
}
