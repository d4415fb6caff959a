/** What can be said of a job before it is accepted, by those who will carry it out, and how webhooks are sent. */
import { schemaProblem } from '../activities/output-schema.js';
import type { JobChecks } from '../api/app-deps.js';
import type { Configuration } from '../contract/configuration.js';
import { isPublicAddress, type AddressPolicy } from '../tools/web/address-policy.js';
import { createGuardedFetch, type GuardedFetch } from '../tools/web/guarded-fetch.js';
import { knownRefusal } from '../tools/web/known-refusal.js';

export function createJobChecks(configuration: Pick<Configuration, 'webhooks'>): JobChecks {
  const isAllowedAddress = webhookAddresses(configuration);
  return {
    outputSchema: schemaProblem,
    webhookUrl: (url) => knownRefusal(url, isAllowedAddress),
  };
}

/** Sends webhooks to the addresses that the configuration allows. */
export function createWebhookFetch(configuration: Pick<Configuration, 'webhooks'>): GuardedFetch {
  return createGuardedFetch({ isAllowedAddress: webhookAddresses(configuration) });
}

function webhookAddresses({ webhooks }: Pick<Configuration, 'webhooks'>): AddressPolicy {
  return webhooks.allowPrivateAddresses ? () => true : isPublicAddress;
}
