import { describe, expect, it } from 'vitest';
import { rightOf } from '../../../src/api/auth/route-rights.js';

describe('the right that a call needs', () => {
  it.each([
    ['GET', '/v1/sessions', 'read'],
    ['HEAD', '/v1/sessions/s', 'read'],
    ['GET', '/v1/sessions/s/events', 'read'],
    ['GET', '/v1/approvals', 'read'],
    ['POST', '/v1/sessions', 'submit'],
    ['PATCH', '/v1/sessions/s', 'submit'],
    ['POST', '/v1/turns', 'submit'],
    ['POST', '/v1/sessions/s/blobs', 'submit'],
    ['PATCH', '/v1/sessions/s/queue/i', 'submit'],
    ['DELETE', '/v1/sessions/s/queue/i', 'submit'],
    ['POST', '/v1/sessions/s/turns/1/cancel', 'submit'],
    ['POST', '/v1/approvals', 'approve'],
    ['POST', '/v1/approvals/a', 'approve'],
    ['POST', '/v1/questions/q', 'approve'],
    ['DELETE', '/v1/sessions/s', 'admin'],
    ['GET', '/metrics', 'admin'],
  ] as const)('is, for %s %s, %s', (method, path, right) => {
    expect(rightOf(method, path)).toBe(right);
    // Express matches these to the same routes.
    expect(rightOf(method, path.toUpperCase())).toBe(right);
    expect(rightOf(method, `${path}/`)).toBe(right);
  });

  it.each(['/', '/healthz', '/readyz', '/openapi.json', '/assets/index.js'])('is none for %s', (path) => {
    expect(rightOf('GET', path)).toBeNull();
    expect(rightOf('POST', path)).toBe('admin');
  });

  it('is that of an admin for what nobody has thought of', () => {
    for (const path of ['/v2/sessions', '/debug', '/healthz/more', '//v1/sessions']) {
      expect(rightOf('GET', path)).toBe('admin');
    }
    expect(rightOf('PURGE', '/v1/sessions')).toBe('admin');
  });
});
