/**
 * The right that each call needs. What no rule knows is for `admin`, so that a new route is closed until it has one.
 *
 * Express takes a path in any case and with a slash at its end, so the rules do too.
 */
import type { KeyRight } from '../../contract/keys.js';

/** Null: for everybody. */
type Rule = readonly [methods: string, path: RegExp, right: KeyRight | null];

const RULES: readonly Rule[] = [
  // The page itself holds nothing; what it shows it asks for with a key.
  [
    'GET HEAD',
    /^\/(index\.html|favicon\.(ico|svg)|healthz|readyz|openapi\.json|assets\/.*|docs(\/.*)?)?$/,
    null,
  ],
  ['GET HEAD', /^\/v1\//, 'read'],
  ['POST', /^\/v1\/(approvals|questions)(\/|$)/, 'approve'],
  ['DELETE', /^\/v1\/sessions\/[^/]+\/queue\//, 'submit'],
  // A file brings a permission mode, grants, and input that is run.
  ['POST', /^\/v1\/sessions\/import\/?$/, 'admin'],
  ['POST PATCH PUT', /^\/v1\//, 'submit'],
];

/** The right that a call needs; null where it needs no key. */
export function rightOf(method: string, path: string): KeyRight | null {
  const usual = path.toLowerCase();
  const rule = RULES.find(([methods, pattern]) => methods.split(' ').includes(method) && pattern.test(usual));
  return rule === undefined ? 'admin' : rule[2];
}
