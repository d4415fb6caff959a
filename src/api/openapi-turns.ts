/** The operations that bring turns about, show them and end them, for the API's description. */
import { turnStatusSchema } from '../contract/http.js';
import {
  CURSOR,
  ID,
  json,
  located,
  LIMIT,
  list,
  ORDINAL,
  parameter,
  string,
  TIME,
  type Operations,
} from './openapi-parts.js';

const TURN = parameter('path', 'turn', ORDINAL, 'The turn, from 1.');
const WAIT = parameter(
  'query',
  'wait',
  { type: 'number', minimum: 0, maximum: 300 },
  'Seconds to wait for its end.',
);
const PREFER = parameter('header', 'Prefer', string, '`wait=N` is the same as `?wait=N`.');
const KEY = parameter('header', 'Idempotency-Key', string, 'The same as `requestId` in the body.');

const TURN_FILTERS = [
  parameter('query', 'status', { enum: turnStatusSchema.options }, 'Only turns in this state.'),
  parameter('query', 'profile', string, 'Only turns that were entered with this profile.'),
  parameter('query', 'since', TIME, 'Only turns that started at this time or later.'),
  parameter('query', 'until', TIME, 'Only turns that started before this time.'),
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

/** Operations by path and method. */
export const TURN_OPERATIONS: Operations = {
  '/v1/sessions/{id}/prompts': {
    post: {
      summary: 'Send a prompt; it is durable once accepted',
      parameters: [ID, KEY],
      body: 'PromptBody',
      answers: {
        202: json('PromptAnswer', 'Accepted.'),
        200: json('PromptAnswer', 'Accepted before under the same request id.'),
      },
      problems: [
        'TURN_RUNNING',
        'LIMIT_REACHED',
        'REQUEST_ID_REUSED',
        'WORKSPACE_NOT_ALLOWED',
        'PERMISSION_NOT_ALLOWED',
        'DRAINING',
      ],
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
      answers: { 202: located('Turn', 'Accepted.'), 200: located('Turn', 'The ended turn.') },
      problems: [
        'NOT_FOUND',
        'TURN_RUNNING',
        'LIMIT_REACHED',
        'REQUEST_ID_REUSED',
        'WORKSPACE_NOT_ALLOWED',
        'PERMISSION_NOT_ALLOWED',
        'DRAINING',
      ],
    },
  },
};
