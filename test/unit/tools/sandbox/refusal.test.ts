import { expect, it } from 'vitest';
import { explainRefusal } from '../../../../src/tools/sandbox/refusal.js';

const OPEN = {
  maxUserNamespaces: 15_000,
  unprivilegedUserNamespaces: undefined,
  apparmorRestriction: undefined,
};

it.each([
  [
    'setting up uid map: Permission denied',
    { apparmorRestriction: 1 },
    'apparmor_restrict_unprivileged_userns=0',
  ],
  ['loopback: Failed RTM_NEWADDR: Operation not permitted', { apparmorRestriction: 1 }, 'AppArmor'],
  [
    'No permissions to create new namespace',
    { unprivilegedUserNamespaces: 0 },
    'unprivileged_userns_clone=1',
  ],
  [
    'Creating new namespace failed: No space left on device',
    { maxUserNamespaces: 0 },
    'user.max_user_namespaces',
  ],
  ['Creating new namespace failed: Operation not permitted', {}, '--security-opt'],
  [
    "Can't mount proc on /newroot/proc: Operation not permitted",
    { apparmorRestriction: 1 },
    '--security-opt',
  ],
  ['Unknown option --bind-fd', {}, 'too old'],
  ['something else', {}, 'does not work here'],
])('a refusal with "%s" and %j is explained', (said, settings, expected) => {
  const reason = explainRefusal(`The command was not run. bwrap: ${said}`, { ...OPEN, ...settings });
  expect(reason).toContain(expected);
  expect(reason.endsWith(`(${said})`)).toBe(true);
});
