/** The tool `job_output`: what a background command has written since it was last read. */
import { z } from 'zod';
import { type JobOutput, jobStatusLine } from '../jobs/session-jobs.js';
import { defineTool } from '../tool.js';

const MAX_WAIT_MS = 60_000;
/** Beyond the wait: time to read. */
const READING_MS = 10_000;

const parameters = z.strictObject({
  job_id: z.string().min(1).describe('The id that bash gave.'),
  wait_ms: z
    .number()
    .int()
    .min(0)
    .max(MAX_WAIT_MS)
    .optional()
    .describe(
      `How long to wait for output where there is none yet. Default 0, at most ${String(MAX_WAIT_MS)}.`,
    ),
});

export const jobOutputTool = defineTool({
  name: 'job_output',
  description:
    'Shows what a background command of this session has written since the last job_output, both outputs together, ' +
    'and ends with its state: [running], its exit code, or how else it ended. With wait_ms it returns as soon as there ' +
    'is output or the command has ended. Of much output it has the beginning and the end.',
  parameters,
  effect: 'read',
  permission: 'none',
  concurrency: () => 'parallel',
  timeoutMs: ({ wait_ms: waitMs = 0 }) => waitMs + READING_MS,
  execute: async ({ job_id: jobId, wait_ms: waitMs = 0 }, { jobs, idempotencyKey, signal }) => ({
    content: render(await jobs.output({ jobId, waitMs, idempotencyKey, signal })),
  }),
});

function render({ status, droppedBytes, head, omittedBytes, tail, laterBytes }: JobOutput): string {
  const lines = [
    note(droppedBytes, 'before this are not kept any more'),
    withoutLineEnd(head),
    note(omittedBytes, 'left out'),
    withoutLineEnd(tail),
    note(laterBytes, 'came after this; the next job_output shows them'),
    jobStatusLine(status),
  ].filter((line) => line !== '');
  return lines.length === 1 ? ['[no new output]', ...lines].join('\n') : lines.join('\n');
}

function note(bytes: number, what: string): string {
  return bytes === 0 ? '' : `[${String(bytes)} bytes ${what}]`;
}

function withoutLineEnd(text: string): string {
  return text.replace(/\n$/, '');
}
