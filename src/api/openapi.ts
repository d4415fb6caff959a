/**
 * The API's description as OpenAPI 3.1, made from the zod schemas that check the requests.
 *
 * Owns which operations there are; a test holds it against the routes.
 */
import { z } from 'zod';
import { sessionStatusSchema, turnStatusSchema } from '../contract/http.js';
import { rightOf } from './auth/route-rights.js';
import { PROBLEM_CONTENT_TYPE } from './error-handler.js';
import { ASK_OPERATIONS } from './openapi-asks.js';
import { INPUT_OPERATIONS } from './openapi-input.js';
import {
  ANSWERS,
  BODIES,
  CONTENT_TYPE,
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
const time = { type: 'string', format: 'date-time' };
const TURN = parameter('path', 'turn', ordinal, 'The turn, from 1.');
const WAIT = parameter('query', 'wait', { type: 'number', maximum: 300 }, 'Seconds to wait for its end.');
const PREFER = parameter('header', 'Prefer', string, '`wait=N` is the same as `?wait=N`.');
const KEY = parameter('header', 'Idempotency-Key', string, 'The same as `requestId` in the body.');

const TURN_FILTERS = [
  parameter('query', 'status', { enum: turnStatusSchema.options }, 'Only turns in this state.'),
  parameter('query', 'profile', string, 'Only turns that were entered with this profile.'),
  parameter('query', 'since', time, 'Only turns that started at this time or later.'),
  parameter('query', 'until', time, 'Only turns that started before this time.'),
  parameter(
    'query',
    'metadata.{key}',
    string,
    'Only turns of sessions whose metadata has this value under the key; other keys may be given beside it.',
  ),
];

const CANCEL_ANSWERS = {
  202: json('CancelAnswer', 'The turn is being cancelled.'),
  200: json('CancelAnswer', 'There was nothing to cancel, or the turn has ended.'),
};

const OPERATIONS: Operations = {
  ...ASK_OPERATIONS,
  ...INPUT_OPERATIONS,
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
      parameters: [
        ID,
        parameter('query', 'unchangedSince', time, 'Only where no turn is open and nothing was done since.'),
      ],
      answers: { 204: { description: 'Deleted.' } },
    },
  },
  '/v1/sessions/{id}/export': {
    get: {
      summary: 'The session as one file, with its blobs, that can be imported anywhere',
      parameters: [ID],
      answers: {
        200: {
          description:
            'Lines of JSON: a header, events and blobs, an end. Each has a check of all before it.',
          content: { 'application/x-ndjson': { schema: string } },
        },
      },
    },
  },
  '/v1/sessions/import': {
    post: {
      summary: 'Make a session of an exported file',
      parameters: [
        parameter('query', 'id', string, 'The id of the new session; default: the one in the file.'),
        parameter('query', 'workspace', string, 'Its workspace; default: a fresh folder.'),
        parameter('query', 'repair', { type: 'boolean' }, 'Open a damaged file up to where it is whole.'),
        CONTENT_TYPE,
      ],
      bytes: true,
      answers: { 201: json('ImportedSession', 'Imported.') },
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
      parameters: [ID, LIMIT, CURSOR, ...TURN_FILTERS],
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
    get: {
      summary: 'List the turns of all sessions, newest first',
      parameters: [LIMIT, CURSOR, ...TURN_FILTERS],
      answers: { 200: list('Turn', 'A page of turns.') },
    },
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
        parameter(
          'query',
          'types',
          string,
          'Event types, separated by commas; of a stream its events, and no fewer frames.',
        ),
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
          Object.entries(methods).map(([method, operation]) => [
            method,
            { ...describe(operation), security: securityOf(method, path) },
          ]),
        ),
      ]),
    ),
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key; its rights are the roles.' },
      },
      schemas: { ...componentsOf(BODIES, 'input'), ...componentsOf(ANSWERS, 'output') },
    },
  };
}

function describe({ summary, parameters = [], body, bytes, answers }: Operation): Json {
  return {
    summary,
    parameters,
    ...(body === undefined ? {} : { requestBody: bodyOf(body) }),
    ...(bytes === true ? { requestBody: { required: true, content: { '*/*': {} } } } : {}),
    responses: {
      ...answers,
      default: { description: 'A problem.', content: { [PROBLEM_CONTENT_TYPE]: { schema: ref('Problem') } } },
    },
  };
}

/** The right that the key needs, as a role; an empty list is a call for everybody. */
function securityOf(method: string, path: string): readonly Json[] {
  const right = rightOf(method.toUpperCase(), path);
  return right === null ? [] : [{ key: [right] }];
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
