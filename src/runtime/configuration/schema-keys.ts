/**
 * Reads from the zod schema which keys may stand at a path, for the hint about an unknown one. Pure.
 */
import { z } from 'zod';
import type { KeyPath } from './configuration-path.js';

/** The keys that the schema's object at `path` knows; empty where there is none with fixed keys. */
export function knownKeys(schema: z.core.$ZodType, path: KeyPath): readonly string[] {
  const inner = unwrapped(schema);
  const [key, ...rest] = path;
  if (inner instanceof z.ZodObject) {
    if (key === undefined) return Object.keys(inner.shape);
    const child: unknown = Object.hasOwn(inner.shape, key) ? Reflect.get(inner.shape, key) : undefined;
    return child instanceof z.ZodType ? knownKeys(child, rest) : [];
  }
  if (key === undefined) return [];
  if (inner instanceof z.ZodRecord) return knownKeys(inner.valueType, rest);
  if (inner instanceof z.ZodArray) return knownKeys(inner.element, rest);
  return [];
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable
    ? unwrapped(schema.unwrap())
    : schema;
}
