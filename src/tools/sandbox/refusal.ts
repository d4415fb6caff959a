/** Says why a system refuses the sandbox, and what to do, from what bubblewrap says and how the kernel is set. */
import { readFileSync } from 'node:fs';

/** Settings of the kernel that may keep users from making namespaces; undefined where the kernel has no such setting. */
export interface KernelSettings {
  readonly maxUserNamespaces: number | undefined;
  readonly unprivilegedUserNamespaces: number | undefined;
  readonly apparmorRestriction: number | undefined;
}

/** The settings of the running kernel. */
export function readKernelSettings(): KernelSettings {
  return {
    maxUserNamespaces: readSetting('user/max_user_namespaces'),
    unprivilegedUserNamespaces: readSetting('kernel/unprivileged_userns_clone'),
    apparmorRestriction: readSetting('kernel/apparmor_restrict_unprivileged_userns'),
  };
}

function readSetting(name: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/sys/${name}`, 'utf8'));
  } catch {
    // This kernel has no such setting.
    return undefined;
  }
}

/** One sentence or two; the message of the failure stands at their end. */
export function explainRefusal(message: string, settings: KernelSettings): string {
  const said = /bwrap: (.*)/.exec(message)?.[1] ?? message;
  return `${causeOf(said, settings)} (${said.trim()})`;
}

function causeOf(said: string, settings: KernelSettings): string {
  if (/unknown option/i.test(said)) {
    return 'The bubblewrap on the PATH is too old: install version 0.10, or an older one with the security updates of its distribution.';
  }
  if (/namespace|[ug]id map|loopback/i.test(said)) {
    if (settings.apparmorRestriction === 1) {
      return 'AppArmor keeps bubblewrap from making user namespaces: give bwrap a profile that allows "userns", or run "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0".';
    }
    if (settings.unprivilegedUserNamespaces === 0) {
      return 'The kernel keeps users from making namespaces: run "sysctl -w kernel.unprivileged_userns_clone=1".';
    }
    if (settings.maxUserNamespaces === 0) {
      return 'The kernel allows no user namespaces: run "sysctl -w user.max_user_namespaces=15000".';
    }
  }
  if (/namespace|[ug]id map|loopback|mount|pivot_root|slave/i.test(said)) {
    return 'This system does not let bubblewrap make namespaces and mounts. In a container, allow it to, for example with "--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined".';
  }
  return 'Bubblewrap does not work here.';
}
