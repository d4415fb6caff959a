/** The operations on input that no turn has taken yet, for the API's description: the queue and uploads. */
import { CONTENT_TYPE, ID, json, located, parameter, string, type Operations } from './openapi-parts.js';

const ITEM = parameter('path', 'itemId', string, 'The item of the queue.');

/** Of a key that is narrower than the session. */
const REACH = ['PERMISSION_NOT_ALLOWED', 'WORKSPACE_NOT_ALLOWED'] as const;

/** Operations by path and method. */
export const INPUT_OPERATIONS: Operations = {
  '/v1/sessions/{id}/queue/{itemId}': {
    patch: {
      summary: 'Edit a prompt that waits, or make it a steer or a queued one',
      parameters: [ID, ITEM],
      body: 'QueuePatch',
      answers: { 200: json('QueueItem', 'The item as it is now.') },
      problems: ['ALREADY_CLAIMED', ...REACH],
    },
    delete: {
      summary: 'Remove a prompt that waits',
      parameters: [ID, ITEM],
      answers: { 204: { description: 'Removed.' } },
      problems: ['ALREADY_CLAIMED', ...REACH],
    },
  },
  '/v1/sessions/{id}/blobs': {
    post: {
      summary: 'Upload the bytes of an image or a file, for prompts that name it by its digest',
      parameters: [ID, CONTENT_TYPE],
      bytes: ['*/*'],
      answers: { 201: located('Blob', 'Stored; the same bytes again are the same blob.') },
      problems: [...REACH],
    },
  },
};
