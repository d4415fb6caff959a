/** The path parameters that file tools share. */
import { z } from 'zod';
import type { PathScope } from './execution-provider.js';
import type { ToolContext } from './tool.js';

/** A path as a model gives it; whether it may be touched is decided where it is opened. */
export function pathParameter(description: string) {
  return z
    .string()
    .min(1)
    .refine((path) => !path.includes('\0'), 'must not hold a NUL character')
    .describe(description);
}

/** What of the file system a call may touch. */
export function scopeOf({ workspace, protectedPaths }: ToolContext): PathScope {
  return { workspace, protectedPaths };
}
