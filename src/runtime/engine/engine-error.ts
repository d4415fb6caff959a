/**
 * The errors of the embedded engine.
 */

export type EngineErrorCode =
  /** The configured port is taken. */
  | 'ENGINE_PORT_IN_USE'
  /** The process ended before it answered. */
  | 'ENGINE_START_FAILED'
  /** The process runs and does not answer in time. */
  | 'ENGINE_START_TIMEOUT'
  /** No Temporal server answers at the configured address. */
  | 'ENGINE_UNREACHABLE'
  /** The caller ended the start. */
  | 'ENGINE_START_STOPPED';

/** The embedded engine did not start; the message says why, as far as its log tells, and what to do. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly code: EngineErrorCode;
  /** The port that is taken, of `ENGINE_PORT_IN_USE`. */
  readonly port?: number;

  constructor(code: EngineErrorCode, message: string, port?: number, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    if (port !== undefined) this.port = port;
  }
}

export function portInUseError(port: number): EngineError {
  return new EngineError(
    'ENGINE_PORT_IN_USE',
    `The port ${String(port)} of the embedded engine is in use by another program. ` +
      'Stop that program, or set engine.port to another port, or to 0 for any free one.',
    port,
  );
}

export function engineUnreachable(address: string, cause: unknown): EngineError {
  return new EngineError(
    'ENGINE_UNREACHABLE',
    `No Temporal server answers at ${address}. Start it, set engine.address or TEMPORAL_ADDRESS to another one, ` +
      'or leave both out for the embedded engine.',
    undefined,
    { cause },
  );
}
