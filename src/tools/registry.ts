/**
 * Which tools there are, and how they are offered to a model.
 *
 * Sorted by name and with canonical schemas, so that the same tools make the same bytes in each request.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Sha256, sha256Schema } from '../contract/ids.js';
import type { OfferedTool, ToolDefinition } from '../contract/messages.js';
import type { Tool } from './tool.js';

/** The tools of a profile: all, or those with these names. */
export type ToolSelection = '*' | readonly string[];

export interface ToolRegistry {
  get(name: string): Tool | undefined;
  /** Names in byte order; a selected name that does not exist is left out. */
  names(selection?: ToolSelection): readonly string[];
  /** The selected tools as the model sees them, in the order of their names. */
  offered(selection: ToolSelection): readonly OfferedTool[];
}

/** @throws Error where a name is malformed or taken twice. */
export function createToolRegistry(tools: readonly Tool[]): ToolRegistry {
  const byName = new Map<string, { tool: Tool; offered: OfferedTool }>();
  for (const tool of [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(tool.name)) {
      throw new Error(`The tool name "${tool.name}" must be 1 to 64 letters, digits, "_" or "-".`);
    }
    if (byName.has(tool.name)) throw new Error(`There are two tools named "${tool.name}".`);
    byName.set(tool.name, { tool, offered: offerTool(tool) });
  }
  const selected = (selection: ToolSelection) =>
    [...byName.values()].filter(({ tool }) => selection === '*' || selection.includes(tool.name));
  return {
    get: (name) => byName.get(name)?.tool,
    names: (selection = '*') => selected(selection).map(({ tool }) => tool.name),
    offered: (selection) => selected(selection).map(({ offered }) => offered),
  };
}

/**
 * The bytes that a tool's digest is taken over: JSON of `{description, name, parameters}` with sorted keys. Parsed
 * again they give the definition that the request held, in the same order.
 */
export function canonicalToolJson(definition: ToolDefinition): string {
  const { description, name, parameters } = definition;
  return JSON.stringify(sortKeys({ description, name, parameters }));
}

function offerTool(tool: Tool): OfferedTool {
  // `input`: what the model has to send, where a parameter with a default may be left out.
  const schema = { ...z.toJSONSchema(tool.parameters, { io: 'input' }) };
  delete schema.$schema;
  const definition = {
    name: tool.name,
    description: tool.description,
    parameters: sortKeys(schema) as Record<string, unknown>,
  };
  return { ...definition, sha256: digest(canonicalToolJson(definition)) };
}

function digest(text: string): Sha256 {
  return sha256Schema.parse(createHash('sha256').update(text).digest('hex'));
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner)]));
}
