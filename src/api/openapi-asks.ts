/** The operations on approvals and questions, for the API's description. */
import {
  CURSOR,
  ID,
  json,
  LIMIT,
  list,
  parameter,
  SESSION_ID,
  string,
  type Json,
  type Operation,
  type Operations,
} from './openapi-parts.js';

const APPROVAL = parameter('path', 'approvalId', string, 'The approval.');
const QUESTION = parameter('path', 'questionId', string, 'The question.');
const SESSION = parameter('query', 'session', SESSION_ID, 'Only those of this session.');
const STATUS = parameter('query', 'status', { enum: ['open', 'closed', 'all'] }, 'Default: `open`.');

const listing = (summary: string, item: 'Approval' | 'Question', place: Json): Operation => ({
  summary,
  parameters: [place, STATUS, LIMIT, CURSOR],
  answers: { 200: list(item, `A page of ${item.toLowerCase()}s.`) },
  problems: ['NOT_FOUND'],
});

/** The operations by path and method. */
export const ASK_OPERATIONS: Operations = {
  '/v1/approvals': {
    get: listing('List approvals of all sessions, newest first', 'Approval', SESSION),
    post: {
      summary: 'Decide many approvals, each on its own',
      body: 'DecisionsBody',
      answers: { 200: json('DecisionsAnswer', 'How each decision went, in their order.') },
    },
  },
  '/v1/approvals/{approvalId}': {
    get: {
      summary: 'Show an approval',
      parameters: [APPROVAL],
      answers: { 200: json('Approval', 'The approval.') },
    },
    post: {
      summary: 'Allow or deny a call; the first decision stands',
      parameters: [APPROVAL],
      body: 'DecisionBody',
      answers: { 200: json('Approval', 'Decided, now or before with the same outcome.') },
      problems: ['APPROVAL_DECIDED', 'APPROVAL_CLOSED'],
    },
  },
  '/v1/sessions/{id}/approvals': {
    get: listing('List the approvals of a session, newest first', 'Approval', ID),
  },
  '/v1/questions': {
    get: listing('List questions of all sessions, newest first', 'Question', SESSION),
  },
  '/v1/questions/{questionId}': {
    get: {
      summary: 'Show a question',
      parameters: [QUESTION],
      answers: { 200: json('Question', 'The question.') },
    },
    post: {
      summary: 'Answer a question; the first answer stands',
      parameters: [QUESTION],
      body: 'AnswersBody',
      answers: { 200: json('Question', 'Answered, now or before with the same answers.') },
      problems: ['APPROVAL_DECIDED', 'APPROVAL_CLOSED'],
    },
  },
  '/v1/sessions/{id}/questions': {
    get: listing('List the questions of a session, newest first', 'Question', ID),
  },
};
