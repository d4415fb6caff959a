/**
 * Paths of keys inside the configuration: how they are spelled for people, read, set and listed. Pure.
 */

export type KeyPath = readonly PropertyKey[];

/** `server.port`, `profiles.default.rules[0].tool`, `providers.local.models["small-1.5"]`. */
export function formatPath(path: KeyPath): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${String(key)}]`;
    const name = String(key);
    if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(name)) return `${text}[${JSON.stringify(name)}]`;
    return text === '' ? name : `${text}.${name}`;
  }, '');
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path of own keys, or undefined where the path leads nowhere. */
export function valueAt(root: unknown, path: KeyPath): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    root,
  );
}

/** A copy of `root` in which the path has the value; what lies on the way and is no object is replaced by one. */
export function withValueAt(root: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const record = isRecord(root) ? root : {};
  return { ...record, [key]: withValueAt(valueAt(record, [key]), rest, value) };
}

/** Every path that holds a value of its own: scalars, lists and empty objects. */
export function leafPaths(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (!isRecord(value)) return [path];
  const entries = Object.entries(value).filter(([, child]) => child !== undefined);
  if (entries.length === 0 && path.length > 0) return [path];
  return entries.flatMap(([key, child]) => leafPaths(child, [...path, key]));
}
