/** One valid event of each type, with every field of the catalogue (EVENTS): the list itself is what tests rely on. */
import type { EventType } from '../../../src/contract/events.js';

const AT = '2026-01-01T00:00:00.000Z';
const SHA256 = 'ab'.repeat(32);
const USAGE = {
  inputTokens: 1,
  outputTokens: 2,
  cacheReadTokens: 3,
  cacheWriteTokens: 4,
  reasoningTokens: 5,
  costUsd: 0.5,
};
const TEXT = { type: 'text', text: 'x' };
const BLOB = { type: 'blob', sha256: SHA256, bytes: 9, mediaType: 'text/plain', head: 'a', tail: 'b' };
const IMAGE = { type: 'image', blob: SHA256, mediaType: 'image/png' };
const FILE = { type: 'file', blob: SHA256, name: 'a.txt', mediaType: 'text/plain' };
const SOURCE = { kind: 'user', requestId: 'r', timeZone: 'Europe/Zurich', by: 'ann' };

/** Fields that an event may leave out. */
export const OPTIONAL_FIELDS: Partial<Record<EventType, readonly string[]>> = {
  'session/repaired': ['lost', 'cause', 'quietMs', 'policy'],
  'turn/end': ['output', 'structured'],
  'turn/cancel-requested': ['cause'],
  'agent/inbox/spliced': ['removed', 'inserted', 'outcome'],
  'assistant/message': ['interrupted'],
  'assistant/attempt': ['failure', 'usage'],
  'tool/started': ['pid'],
  'tool/result': ['error', 'meta'],
  'approval/asked': ['expiresAt'],
  'approval/decided': ['scope', 'note', 'arguments'],
};

export const EVENT_SAMPLES: Record<EventType, Record<string, unknown>> = {
  'session/created': {
    settings: {
      workspace: '/w',
      profile: 'default',
      provider: 'p',
      model: 'm',
      permission: 'read-only',
      limits: { steps: null, tokens: 5 },
      metadata: { a: 'b' },
    },
  },
  'session/settings': { changes: { model: 'm' }, by: 'ann' },
  'session/title': { title: 'x', source: 'fallback' },
  'session/forked': { from: 's', seq: 3 },
  'session/repaired': { what: 'the tail', lost: 2, cause: 'interrupted', quietMs: 3, policy: 'ask' },
  'turn/start': { requestIds: ['r'] },
  'turn/end': {
    reason: { kind: 'completed' },
    output: 'x',
    structured: { a: [1, null] },
    usage: USAGE,
    steps: 1,
  },
  'step/start': {},
  'step/end': { next: 'step' },
  'turn/cancel-requested': { by: 'ann', cause: 'user' },
  'agent/inbox/spliced': {
    target: 'next-turn',
    start: 0,
    removed: ['i'],
    inserted: [
      {
        itemId: 'i',
        requestId: 'r',
        content: [TEXT],
        source: SOURCE,
        wakes: true,
        provider: 'p',
        model: 'm',
        outputSchema: { type: 'object', properties: { a: { enum: [null, 1] } } },
      },
    ],
    outcome: 'edited',
  },
  'user/message': { messageId: 'm', content: [TEXT, IMAGE, FILE, BLOB], source: SOURCE },
  'system/message': { content: 'x', sections: [{ name: 'base', sha256: SHA256 }] },
  'request/header': {
    provider: 'p',
    model: 'm',
    wire: 'chat-completions',
    parameters: { temperature: 1, maxTokens: 2, stop: ['x'], reasoningEffort: 'low' },
    adapterDefaults: { max_tokens: 1, nested: { a: [null] } },
    tools: [{ name: 'read', sha256: SHA256 }],
    reason: 'initial',
  },
  'request/context': { contextWindow: 1 },
  'assistant/message': {
    messageId: 'm',
    attempt: 1,
    content: [
      TEXT,
      { type: 'reasoning', text: 'x', replay: 'y' },
      { type: 'tool-call', callId: 'c', name: 'read', arguments: '{' },
      { type: 'tool-call', callId: 'd', name: 'read', arguments: BLOB },
      BLOB,
    ],
    finish: 'tool-calls',
    usage: USAGE,
    interrupted: true,
    provider: 'p',
    model: 'm',
    timing: { requestedAt: AT, firstByteAt: AT, endedAt: AT },
  },
  'assistant/attempt': {
    attempt: 1,
    outcome: 'failed',
    failure: { code: 'SERVER', message: 'x', status: 503, providerRequestId: 'y' },
    shownCharacters: 0,
    usage: USAGE,
  },
  'llm/retry': { attempt: 1, delayMs: 0, retryAt: AT, code: 'RATE_LIMIT', from: 'retry-after' },
  'tool/call': {
    callId: 'c',
    index: 0,
    name: 'read',
    arguments: '{}',
    effect: 'idempotent',
    mode: 'parallel',
  },
  'tool/started': { callId: 'c', attempt: 1, hostId: 'h', pid: 5, startedAt: AT },
  'tool/result': {
    callId: 'c',
    content: [TEXT, IMAGE],
    isError: true,
    error: { name: 'E', code: 'TOOL_ERROR' },
    meta: { observed: [{ path: '/a', version: '1' }], concludesTurn: true, own: { a: 1 } },
    durationMs: 0,
  },
  'approval/asked': {
    approvalId: 'a',
    callId: 'c',
    tool: 'bash',
    arguments: '{}',
    argumentsSha256: SHA256,
    reason: 'It writes.',
    expiresAt: AT,
  },
  'approval/decided': {
    approvalId: 'a',
    outcome: 'allowed',
    scope: 'session',
    by: 'ann',
    note: 'ok',
    arguments: { a: { b: [1, null, 'x'] } },
  },
  'question/asked': {
    questionId: 'q',
    callId: 'c',
    questions: [{ id: '1', question: 'Which?', options: ['a'], multiSelect: true }],
  },
  'question/answered': {
    questionId: 'q',
    answers: [{ id: '1', selected: ['a'], text: 'x' }],
    by: 'ann',
    outcome: 'answered',
  },
  'approval/policy': { permission: 'full-access', source: 'ann' },
  'todo/write': { todos: [{ content: 'x', status: 'in_progress' }] },
};
