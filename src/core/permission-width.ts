/** How wide the permission modes are: which of two lets tools do more without asking. */
import type { PermissionMode } from '../contract/session.js';

const WIDTH: Readonly<Record<PermissionMode, number>> = {
  'read-only': 0,
  'workspace-write': 1,
  'full-access': 2,
};

/** Whether the mode allows no more than the other one. */
export function isWithin(mode: PermissionMode, widest: PermissionMode): boolean {
  return WIDTH[mode] <= WIDTH[widest];
}
