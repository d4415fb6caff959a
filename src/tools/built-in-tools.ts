/** The tools that Turnkeeper brings along. */
import { bashTool } from './bash/bash-tool.js';
import { editTool } from './edit/edit-tool.js';
import { globTool } from './glob/glob-tool.js';
import { grepTool } from './grep/grep-tool.js';
import { readTool } from './read/read-tool.js';
import type { Tool } from './tool.js';
import { writeTool } from './write/write-tool.js';

export const BUILT_IN_TOOLS: readonly Tool[] = [bashTool, editTool, globTool, grepTool, readTool, writeTool];
