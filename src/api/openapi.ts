/**
 * The API's description as OpenAPI 3.1, made from the zod schemas that check the requests.
 *
 * Owns which operations there are, with those of the `openapi-*.ts` beside it; a test holds it against the routes.
 */
import { z } from 'zod';
import { rightOf } from './auth/route-rights.js';
import { ASK_OPERATIONS } from './openapi-asks.js';
import { INPUT_OPERATIONS } from './openapi-input.js';
import {
  ANSWERS,
  BODIES,
  ID,
  json,
  LIMIT,
  list,
  ORDINAL,
  page,
  parameter,
  ref,
  string,
  type Json,
  type Operation,
  type Operations,
} from './openapi-parts.js';
import { problemComponents, problemsOf } from './openapi-problems.js';
import { SESSION_OPERATIONS } from './openapi-sessions.js';
import { TURN_OPERATIONS } from './openapi-turns.js';

const OPERATIONS: Operations = {
  ...SESSION_OPERATIONS,
  ...INPUT_OPERATIONS,
  ...TURN_OPERATIONS,
  ...ASK_OPERATIONS,
  '/v1/sessions/{id}/events': {
    get: {
      summary: 'A page of the log, or with `Accept: text/event-stream` the event stream',
      parameters: [
        ID,
        LIMIT,
        parameter('query', 'after', string, 'Page: a seq, exclusive. Stream: a cursor.'),
        parameter(
          'query',
          'before',
          { type: 'integer', minimum: -1 },
          'Page only: the last events before this seq.',
        ),
        parameter(
          'query',
          'types',
          string,
          'Event types, separated by commas; of a stream its events, and no fewer frames.',
        ),
        parameter('query', 'until', { const: 'turn-end' }, 'Stream only: end with the end of the turn.'),
        parameter('query', 'turn', ORDINAL, 'Stream only, with `until`: which turn.'),
        parameter('header', 'Last-Event-ID', string, 'Stream only: the cursor; wins over `after`.'),
      ],
      answers: {
        200: {
          description:
            'A page of events, or a stream of `event` (Event), `frame` (Frame), `state` (StreamState), `ping` and `end` (Turn).',
          content: {
            'application/json': { schema: page('Event', 'integer') },
            'text/event-stream': { schema: string },
          },
        },
      },
    },
  },
  '/v1/events': {
    get: {
      summary: 'What changes in all sessions, without content, as an event stream from now on',
      parameters: [
        parameter('query', 'types', string, 'Of `session`, `approval` and `question`, separated by commas.'),
      ],
      answers: {
        200: {
          description:
            'A stream of `session` (SessionChange), `approval` (ApprovalChange), `question` (QuestionChange) and `ping`.',
          content: { 'text/event-stream': { schema: string } },
        },
      },
    },
  },
  '/v1/models': {
    get: { summary: 'The models that can be named', answers: { 200: list('Model', 'All models.') } },
  },
  '/healthz': {
    get: { summary: 'Whether the process answers', answers: { 200: json('Health', 'It does.') } },
  },
  '/readyz': {
    get: {
      summary: 'Whether turns can be run',
      answers: { 200: json('Readiness', 'They can.'), 503: json('Readiness', 'Not now.') },
    },
  },
  '/metrics': {
    get: {
      summary: 'Numbers of this process, in the format of Prometheus',
      answers: {
        200: { description: 'No content, and no ids.', content: { 'text/plain': { schema: string } } },
      },
    },
  },
  '/docs': {
    get: {
      summary: 'This description as a page, on which calls can be tried',
      answers: { 200: { description: 'The page.', content: { 'text/html': { schema: string } } } },
    },
  },
  '/openapi.json': {
    get: {
      summary: 'This description',
      answers: {
        200: { description: 'OpenAPI 3.1.', content: { 'application/json': { schema: { type: 'object' } } } },
      },
    },
  },
};

/** The methods of each described path, as a request spells them; `HEAD` goes with `GET`. */
export const DESCRIBED_METHODS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(OPERATIONS).map(([path, methods]) => [
    path,
    Object.keys(methods).flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])),
  ]),
);

/** The description of the API as a JSON value. */
export function describeApi(version: string): Json {
  return {
    openapi: '3.1.0',
    info: { title: 'Turnkeeper', version, description: 'Runs agent turns that cannot be lost.' },
    paths: Object.fromEntries(
      Object.entries(OPERATIONS).map(([path, methods]) => [
        path,
        Object.fromEntries(
          Object.entries(methods).map(([method, operation]) => [method, describe(operation, method, path)]),
        ),
      ]),
    ),
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key; its rights are the roles.' },
      },
      schemas: { ...componentsOf(BODIES, 'input'), ...componentsOf(ANSWERS, 'output') },
      responses: problemComponents(),
    },
  };
}

function describe(operation: Operation, method: string, path: string): Json {
  const { summary, parameters = [], body, bytes, answers } = operation;
  const right = rightOf(method.toUpperCase(), path);
  return {
    summary,
    parameters,
    ...(body === undefined ? {} : { requestBody: bodyOf(body) }),
    ...(bytes === undefined ? {} : { requestBody: bytesOf(bytes) }),
    responses: { ...problemsOf(operation, { method, path, needsKey: right !== null }), ...answers },
    // The right that the key needs, as a role; an empty list is a call for everybody.
    security: right === null ? [] : [{ key: [right] }],
  };
}

function bodyOf(name: keyof typeof BODIES): Json {
  return { required: name !== 'CancelBody', content: { 'application/json': { schema: ref(name) } } };
}

function bytesOf(types: readonly string[]): Json {
  return { required: true, content: Object.fromEntries(types.map((type) => [type, {}])) };
}

function componentsOf(schemas: Readonly<Record<string, z.ZodType>>, io: 'input' | 'output'): Json {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const text = JSON.stringify(z.toJSONSchema(schema, { io, unrepresentable: 'any' }));
      // References inside of a component are made relative to the whole description.
      const located = text.replaceAll('"$ref":"#/', `"$ref":"#/components/schemas/${name}/`);
      return [name, JSON.parse(located) as unknown];
    }),
  );
}
