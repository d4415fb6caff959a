/** The errors of the client. */
import { z } from 'zod';
import { problemSchema, type Problem } from '../contract/http.js';

/** The server has answered with a problem; route by `code`. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly problem: Problem,
    /** How long the server asks to be left alone; 0 where it does not. */
    readonly retryAfterMs = 0,
  ) {
    super(problem.detail);
  }

  get code(): string {
    return this.problem.code;
  }

  get status(): number {
    return this.problem.status;
  }

  /** The path of the field that is to blame, where one is. */
  get field(): string | undefined {
    return this.problem.field;
  }
}

/** The server cannot be reached, or the connection broke before its answer was whole. `cause` has what the platform says. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** The error of an answer that is no success; a body that is no problem (a proxy's page) becomes one. */
export async function apiErrorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  return new ApiError(
    parseProblem(text) ?? {
      type: 'about:blank',
      title: response.statusText,
      status: response.status,
      code: 'UNEXPECTED_ANSWER',
      detail: `The server answered ${String(response.status)} without saying why.`,
    },
    retryAfterMs(response.headers),
  );
}

/** `Retry-After` in seconds; the date that it may also be says too little between two clocks. */
function retryAfterMs(headers: Headers): number {
  const seconds = /^\d{1,6}$/.exec(headers.get('retry-after') ?? '')?.[0];
  return seconds === undefined ? 0 : Number(seconds) * 1000;
}

/** A newer server may say more. */
const knownFields = z.object(problemSchema.shape);

function parseProblem(text: string): Problem | undefined {
  try {
    return knownFields.safeParse(JSON.parse(text)).data;
  } catch {
    // No JSON: somebody else than Turnkeeper has answered.
    return undefined;
  }
}
