/**
 * The Brave Search API as a search provider.
 *
 * @see https://api-dashboard.search.brave.com/api-reference/web/search/get
 */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { ToolError } from '../tool.js';
import { createGuardedFetch, type GuardedFetch, type GuardedResponse } from '../web/guarded-fetch.js';
import { WebRequestError } from '../web/web-request-error.js';
import type { SearchHit, SearchProvider } from './search-provider.js';

const BASE_URL = 'https://api.search.brave.com';
const HITS = 10;
const MAX_BYTES = 2 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 15_000;
/** A limit that ends within this is waited for once: small plans allow one query a second. */
const MAX_WAIT_MS = 3000;

export interface BraveSearchOptions {
  /** Read at each query; an error names the variable where it is undefined or blank. */
  readonly apiKey: () => string | undefined;
  /** The environment variable that holds the key, for errors. */
  readonly apiKeyEnv: string;
  /** Default: Brave's own address. The operator's word is taken for it, so it may be a private one. */
  readonly baseUrl?: string;
  /** For a query, in milliseconds. Default: 15 s. */
  readonly timeoutMs?: number;
}

const hitSchema = z.object({
  title: z.string(),
  url: z.string(),
  description: z.string().default(''),
  age: z.string().optional(),
});
const answerSchema = z.object({ web: z.object({ results: z.array(hitSchema) }).optional() });
const problemSchema = z.object({
  error: z.object({ code: z.string().optional(), detail: z.string().optional() }),
});

export function createBraveSearch(options: BraveSearchOptions): SearchProvider {
  const { baseUrl = BASE_URL, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  // The address is the operator's, so any host is allowed; the key goes nowhere else, as no redirect is followed.
  const fetch = createGuardedFetch({ isAllowedAddress: () => true });
  return {
    search: async (query, signal) => {
      const key = options.apiKey()?.trim() ?? '';
      if (key === '') {
        throw new ToolError(
          'TOOL_ERROR',
          `The search service needs a key: set the environment variable ${options.apiKeyEnv}.`,
        );
      }
      const url = searchUrl(baseUrl, query);
      const endsAt = performance.now() + timeoutMs;
      const ask = () =>
        request({ fetch, url, key, signal, timeoutMs: Math.max(1, Math.ceil(endsAt - performance.now())) });
      let response = await ask();
      const waitMs = response.status === 429 ? limitResetMs(response) : undefined;
      if (waitMs !== undefined) {
        await wait(waitMs, undefined, { signal }).catch(() => {
          throw signal.reason;
        });
        response = await ask();
      }
      // A service may repeat what it was sent, in an error above all.
      const body = response.bytes.toString('utf8').replaceAll(key, '***');
      if (response.status !== 200) throw new ToolError('TOOL_ERROR', describeProblem(response.status, body));
      return readHits(body);
    },
  };
}

function searchUrl(baseUrl: string, query: string): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/res/v1/web/search`;
  url.searchParams.set('q', query);
  url.searchParams.set('count', String(HITS));
  url.searchParams.set('text_decorations', 'false');
  url.searchParams.set('result_filter', 'web');
  return url.href;
}

interface SearchRequest {
  readonly fetch: GuardedFetch;
  readonly url: string;
  readonly key: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

async function request({ fetch, url, key, signal, timeoutMs }: SearchRequest): Promise<GuardedResponse> {
  const headers = { accept: 'application/json', 'user-agent': 'turnkeeper', 'x-subscription-token': key };
  try {
    return await fetch({ url, headers, maxBytes: MAX_BYTES, timeoutMs, signal });
  } catch (error) {
    if (!(error instanceof WebRequestError)) throw error;
    throw new ToolError('TOOL_ERROR', `The search failed. ${error.message}`, { cause: error });
  }
}

/** When the shortest limit ends, in milliseconds; undefined where that is not soon. */
function limitResetMs({ headers }: GuardedResponse): number | undefined {
  const [first = ''] = String(headers['x-ratelimit-reset'] ?? '').split(',');
  const resetMs = first.trim() === '' ? NaN : Number(first) * 1000;
  return resetMs >= 0 && resetMs <= MAX_WAIT_MS ? resetMs : undefined;
}

function describeProblem(status: number, body: string): string {
  switch (status) {
    case 401:
    case 403:
      return `The search service does not accept its key (status ${String(status)}).`;
    case 429:
      return 'The search service allows no more queries for now (status 429). Try again later, with fewer queries.';
    default: {
      const problem = problemSchema.safeParse(parseJson(body));
      const { code, detail } = problem.success ? problem.data.error : {};
      const said = [code, detail].filter((part) => part !== undefined).join(': ');
      return `The search service answered with status ${String(status)}${said === '' ? '' : ` (${said.slice(0, 500)})`}.`;
    }
  }
}

function readHits(body: string): readonly SearchHit[] {
  const answer = answerSchema.safeParse(parseJson(body));
  if (!answer.success) {
    throw new ToolError('TOOL_ERROR', 'The search service answered with something that is no list of hits.');
  }
  return (answer.data.web?.results ?? []).map(({ title, url, description, age }) => ({
    title: plain(title),
    url,
    snippet: plain(description),
    ...(age === undefined ? {} : { age }),
  }));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No JSON fits no schema, which is where it is reported.
    return undefined;
  }
}

/** Brave marks words with `<strong>` and escapes a few characters, even where it is asked for plain text. */
function plain(text: string): string {
  return text
    .replace(/<\/?strong>/g, '')
    .replace(/&(lt|gt|quot|amp|#x27|#39);/g, (entity, name: string) => ENTITIES[name] ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
}

const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  quot: '"',
  amp: '&',
  '#x27': "'",
  '#39': "'",
};
