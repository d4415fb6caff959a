/**
 * The one error that a model attempt ends with, and which codes are worth another attempt.
 *
 * How an answer, an event or a socket error becomes one is in `failure-classifier.ts`.
 */
import type { ModelFailureCode } from '../contract/failures.js';
import type { Usage } from '../contract/usage.js';

const RETRYABLE: ReadonlySet<ModelFailureCode> = new Set([
  'RATE_LIMIT',
  'SERVER',
  'TRANSPORT',
  'TIMEOUT',
  'STREAM_CLOSED',
  'MALFORMED_RESPONSE',
  'EMPTY_RESPONSE',
]);

/** What is known of a failure beside its code and message. */
export interface ModelFailureDetails {
  /** Absent: as the code has it (WIRES 4). */
  readonly retryable?: boolean | undefined;
  /** The HTTP status of the answer. */
  readonly status?: number | undefined;
  readonly providerRequestId?: string | undefined;
  /** How long the provider asks to wait before another attempt, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** What the attempt used before it failed, as far as the provider said so. */
  readonly usage?: Usage | undefined;
}

/** A failed model attempt. The message holds neither keys nor prompt text and is at most about 600 characters long. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly code: ModelFailureCode;
  readonly retryable: boolean;
  readonly status?: number;
  readonly providerRequestId?: string;
  readonly retryAfterMs?: number;
  readonly usage?: Usage;

  constructor(code: ModelFailureCode, message: string, details: ModelFailureDetails = {}) {
    super(message);
    this.code = code;
    this.retryable = details.retryable ?? RETRYABLE.has(code);
    if (details.status !== undefined) this.status = details.status;
    if (details.providerRequestId !== undefined) this.providerRequestId = details.providerRequestId;
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs;
    if (details.usage !== undefined) this.usage = details.usage;
  }

  /** The same failure with details where it has none of its own. */
  completedWith(details: Omit<ModelFailureDetails, 'retryable'>): ModelFailure {
    return new ModelFailure(this.code, this.message, {
      retryable: this.retryable,
      status: this.status ?? details.status,
      providerRequestId: this.providerRequestId ?? details.providerRequestId,
      retryAfterMs: this.retryAfterMs ?? details.retryAfterMs,
      usage: this.usage ?? details.usage,
    });
  }
}
