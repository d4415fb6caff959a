/**
 * Who can reach the server, from its configuration: no address but loopback without API keys, and the host names that it
 * answers to.
 */
import { LOOPBACK_HOSTS } from '../api/app-deps.js';
import type { Configuration } from '../contract/configuration.js';
import { ConfigurationError } from './configuration/configuration-error.js';
import { isLoopbackHost, type LoadedConfiguration } from './configuration/load-configuration.js';

/** @throws ConfigurationError `HOST_NOT_ALLOWED` for an address that other machines can reach, where there is no key. */
export function checkExposure(
  { configuration: { server }, origins }: Pick<LoadedConfiguration, 'configuration' | 'origins'>,
  haveKeys: boolean,
): void {
  if (haveKeys || isLoopbackHost(server.host)) return;
  throw new ConfigurationError('HOST_NOT_ALLOWED', [
    {
      source: origins['server.host'] ?? 'default',
      path: 'server.host',
      message:
        `is ${JSON.stringify(server.host)}, which other machines can reach, and there is no API key to keep them out. ` +
        'Make one first: "turnkeeper keys create --name NAME --rights submit,read,approve,admin". Or use 127.0.0.1.',
    },
  ]);
}

/**
 * The host names that requests may be addressed to; null is any. By any other name a web page could reach a server on
 * loopback (DNS rebinding), which asks for no key by default.
 */
export function hostsAnswered({
  host,
  allowedHosts,
}: Pick<Configuration['server'], 'host' | 'allowedHosts'>): readonly string[] | null {
  if (allowedHosts !== null) return [...LOOPBACK_HOSTS, ...allowedHosts];
  return isLoopbackHost(host) ? LOOPBACK_HOSTS : null;
}
