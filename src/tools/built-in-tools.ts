/** The tools that Turnkeeper brings along, but for `web_search`, which needs a search service. */
import { askUserQuestionTool } from './ask-user-question/ask-user-question-tool.js';
import { bashTool } from './bash/bash-tool.js';
import { editTool } from './edit/edit-tool.js';
import { globTool } from './glob/glob-tool.js';
import { grepTool } from './grep/grep-tool.js';
import { jobKillTool } from './job-kill/job-kill-tool.js';
import { jobOutputTool } from './job-output/job-output-tool.js';
import { readTool } from './read/read-tool.js';
import { todoWriteTool } from './todo-write/todo-write-tool.js';
import type { Tool } from './tool.js';
import { createWebFetchTool } from './web-fetch/web-fetch-tool.js';
import { writeTool } from './write/write-tool.js';

export const BUILT_IN_TOOLS: readonly Tool[] = [
  askUserQuestionTool,
  bashTool,
  editTool,
  globTool,
  grepTool,
  jobKillTool,
  jobOutputTool,
  readTool,
  todoWriteTool,
  createWebFetchTool(),
  writeTool,
];
