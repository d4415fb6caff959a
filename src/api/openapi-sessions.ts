/** The operations on sessions as wholes, for the API's description: their settings, their files, what is in them. */
import { sessionStatusSchema } from '../contract/http.js';
import {
  CONTENT_TYPE,
  CURSOR,
  ID,
  json,
  located,
  LIMIT,
  list,
  parameter,
  SESSION_ID,
  string,
  TIME,
  type Operations,
} from './openapi-parts.js';

/** Operations by path and method. */
export const SESSION_OPERATIONS: Operations = {
  '/v1/sessions': {
    post: {
      summary: 'Create a session',
      body: 'SessionBody',
      answers: {
        201: located('Session', 'Created.'),
        200: located('Session', 'Created before with the same id and body.'),
      },
      problems: ['SESSION_CONFLICT', 'WORKSPACE_NOT_ALLOWED', 'PERMISSION_NOT_ALLOWED', 'DRAINING'],
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
      problems: ['WORKSPACE_NOT_ALLOWED', 'PERMISSION_NOT_ALLOWED'],
    },
    delete: {
      summary: 'Delete a session with all its data',
      parameters: [
        ID,
        parameter('query', 'unchangedSince', TIME, 'Only where no turn is open and nothing was done since.'),
      ],
      answers: { 204: { description: 'Deleted.' } },
      problems: ['SESSION_CHANGED'],
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
        parameter('query', 'id', SESSION_ID, 'The id of the new session; default: the one in the file.'),
        parameter('query', 'workspace', string, 'Its workspace; default: a fresh folder.'),
        parameter('query', 'repair', { type: 'boolean' }, 'Open a damaged file up to where it is whole.'),
        CONTENT_TYPE,
      ],
      bytes: ['application/x-ndjson', 'application/jsonl', 'application/octet-stream'],
      answers: { 201: located('ImportedSession', 'Imported.') },
      problems: [
        'SESSION_CONFLICT',
        'FILE_DAMAGED',
        'WORKSPACE_NOT_ALLOWED',
        'PERMISSION_NOT_ALLOWED',
        'NOT_FOUND',
        'DRAINING',
      ],
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
};
