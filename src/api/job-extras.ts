/** What a job may want beside an answer: its output as a value, and a word to its caller when it has ended. */
import type { JobBody } from '../contract/http.js';
import type { IdSource } from '../contract/ids.js';
import type { JsonSchema } from '../core/session-state.js';
import type { WebhookTarget } from '../store/follow-up-store.js';
import type { AppDeps } from './app-deps.js';
import { ProblemError } from './problem.js';

/** Refuses what could never be carried out. @throws `ProblemError` `INVALID_REQUEST` that names the field. */
export function checkJobExtras(
  { outputSchema, webhook }: Pick<JobBody, 'outputSchema' | 'webhook'>,
  { jobs }: Pick<AppDeps, 'jobs'>,
): void {
  const schema = outputSchema === undefined ? undefined : jobs.outputSchema(outputSchema);
  if (schema !== undefined) throw invalid('outputSchema', schema);
  const url = webhook === undefined ? undefined : jobs.webhookUrl(webhook.url);
  if (url !== undefined) throw invalid('webhook.url', url);
}

function invalid(field: string, text: string): ProblemError {
  return new ProblemError('INVALID_REQUEST', `"${field}": ${text}`, field);
}

/** The schema as it travels with the prompt. What came as JSON is JSON. */
export function schemaOf({ outputSchema }: Pick<JobBody, 'outputSchema'>): JsonSchema | undefined {
  return outputSchema as JsonSchema | undefined;
}

/** Where the end of the job's turn is posted to; undefined where nowhere. */
export function webhookTarget(
  { webhook }: Pick<JobBody, 'webhook'>,
  ids: IdSource,
): WebhookTarget | undefined {
  if (webhook === undefined) return undefined;
  const { url, secret } = webhook;
  return { url, ...(secret === undefined ? {} : { secret }), deliveryId: ids.uuid() };
}
