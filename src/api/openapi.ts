/**
 * The API's description as OpenAPI 3.1, made from the zod schemas that check the requests.
 *
 * Owns which operations there are; a test holds it against the routes.
 */
import { z } from 'zod';
import { sessionStatusSchema } from '../contract/http.js';
import { PROBLEM_CONTENT_TYPE } from './error-handler.js';
import { ASK_OPERATIONS } from './openapi-asks.js';
import {
  ANSWERS,
  BODIES,
  CURSOR,
  ID,
  json,
  LIMIT,
  list,
  page,
  parameter,
  ref,
  string,
  type Json,
  type Operation,
  type Operations,
} from './openapi-parts.js';

const ordinal = { type: 'integer', minimum: 1 };
const TURN = parameter('path', 'turn', ordinal, 'The turn, from 1.');
const WAIT = parameter('query', 'wait', { type: 'number', maximum: 300 }, 'Seconds to wait for its end.');
const PREFER = parameter('header', 'Prefer', string, '`wait=N` is the same as `?wait=N`.');
const KEY = parameter('header', 'Idempotency-Key', string, 'The same as `requestId` in the body.');

const CANCEL_ANSWERS = {
  202: json('CancelAnswer', 'The turn is being cancelled.'),
  200: json('CancelAnswer', 'There was nothing to cancel, or the turn has ended.'),
};

const OPERATIONS: Operations = {
  ...ASK_OPERATIONS,
  '/v1/sessions': {
    post: {
      summary: 'Create a session',
      body: 'SessionBody',
      answers: {
        201: json('Session', 'Created.'),
        200: json('Session', 'Created before with the same id and body.'),
      },
    },
    get: {
      summary: 'List sessions, newest first',
      parameters: [
        LIMIT,
        CURSOR,
        parameter('query', 'status', { enum: sessionStatusSchema.options }, 'Only sessions in this state.'),
      ],
      answers: { 200: list('Session', 'A page of sessions.') },
    },
  },
  '/v1/sessions/{id}': {
    get: { summary: 'Show a session', parameters: [ID], answers: { 200: json('Session', 'The session.') } },
    patch: {
      summary: 'Rename a session or change its settings',
      parameters: [ID],
      body: 'SessionPatch',
      answers: { 200: json('Session', 'The session as it is now.') },
    },
    delete: {
      summary: 'Delete a session with all its data',
      parameters: [ID],
      answers: { 204: { description: 'Deleted.' } },
    },
  },
  '/v1/sessions/{id}/prompts': {
    post: {
      summary: 'Send a prompt; it is durable once accepted',
      parameters: [ID, KEY],
      body: 'PromptBody',
      answers: {
        202: json('PromptAnswer', 'Accepted.'),
        200: json('PromptAnswer', 'Accepted before under the same request id.'),
      },
    },
  },
  '/v1/sessions/{id}/cancel': {
    post: {
      summary: 'Cancel the open turn',
      parameters: [ID],
      body: 'CancelBody',
      answers: CANCEL_ANSWERS,
    },
  },
  '/v1/sessions/{id}/turns': {
    get: {
      summary: 'List the turns of a session, newest first',
      parameters: [ID, LIMIT, CURSOR],
      answers: { 200: list('Turn', 'A page of turns.') },
    },
  },
  '/v1/sessions/{id}/turns/{turn}': {
    get: {
      summary: 'Show a turn, or wait for its end',
      parameters: [ID, TURN, WAIT],
      answers: { 200: json('Turn', 'The turn as it is now.') },
    },
  },
  '/v1/sessions/{id}/turns/{turn}/cancel': {
    post: {
      summary: 'Cancel a turn',
      parameters: [ID, TURN],
      body: 'CancelBody',
      answers: CANCEL_ANSWERS,
    },
  },
  '/v1/turns': {
    post: {
      summary: 'Run a job: a prompt, in a session of its own where none is named',
      parameters: [WAIT, PREFER, KEY],
      body: 'JobBody',
      answers: { 202: json('Turn', 'Accepted; see `Location`.'), 200: json('Turn', 'The ended turn.') },
    },
  },
  '/v1/sessions/{id}/events': {
    get: {
      summary: 'A page of the log, or with `Accept: text/event-stream` the event stream',
      parameters: [
        ID,
        LIMIT,
        parameter('query', 'after', string, 'Page: a seq, exclusive. Stream: a cursor.'),
        parameter('query', 'before', { type: 'integer' }, 'Page only: the last events before this seq.'),
        parameter('query', 'types', string, 'Page only: event types, separated by commas.'),
        parameter('query', 'until', { const: 'turn-end' }, 'Stream only: end with the end of the turn.'),
        parameter('query', 'turn', ordinal, 'Stream only, with `until`: which turn.'),
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
  '/v1/sessions/{id}/messages': {
    get: {
      summary: 'The messages that a model is shown, oldest first',
      parameters: [ID, LIMIT, CURSOR],
      answers: { 200: list('Message', 'A page of messages.') },
    },
  },
  '/v1/sessions/{id}/blobs/{sha256}': {
    get: {
      summary: 'The bytes of a large content',
      parameters: [ID, parameter('path', 'sha256', string, 'The digest.')],
      answers: { 200: { description: 'The bytes.', content: { '*/*': {} } } },
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
  '/openapi.json': {
    get: { summary: 'This description', answers: { 200: { description: 'OpenAPI 3.1.' } } },
  },
};

/** The description of the API as a JSON value. */
export function describeApi(version: string): Json {
  return {
    openapi: '3.1.0',
    info: { title: 'Turnkeeper', version, description: 'Runs agent turns that cannot be lost.' },
    paths: Object.fromEntries(
      Object.entries(OPERATIONS).map(([path, methods]) => [
        path,
        Object.fromEntries(
          Object.entries(methods).map(([method, operation]) => [method, describe(operation)]),
        ),
      ]),
    ),
    components: { schemas: { ...componentsOf(BODIES, 'input'), ...componentsOf(ANSWERS, 'output') } },
  };
}

function describe({ summary, parameters = [], body, answers }: Operation): Json {
  return {
    summary,
    parameters,
    ...(body === undefined ? {} : { requestBody: bodyOf(body) }),
    responses: {
      ...answers,
      default: { description: 'A problem.', content: { [PROBLEM_CONTENT_TYPE]: { schema: ref('Problem') } } },
    },
  };
}

function bodyOf(name: keyof typeof BODIES): Json {
  return { required: name !== 'CancelBody', content: { 'application/json': { schema: ref(name) } } };
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
