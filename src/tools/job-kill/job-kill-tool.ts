/** The tool `job_kill`: ends a background command. */
import { z } from 'zod';
import { jobStatusLine } from '../jobs/session-jobs.js';
import { defineTool } from '../tool.js';

const parameters = z.strictObject({
  job_id: z.string().min(1).describe('The id that bash gave.'),
});

export const jobKillTool = defineTool({
  name: 'job_kill',
  description:
    'Ends a background command of this session with all its processes. What it has written can still be read with job_output.',
  parameters,
  effect: 'idempotent',
  permission: 'none',
  // A barrier, so that what is read after it is the end.
  concurrency: () => 'exclusive',
  timeoutMs: () => 30_000,
  execute: async ({ job_id: jobId }, { jobs }) => {
    const status = await jobs.kill(jobId);
    const what = status.kind === 'killed' ? `${jobId} is ended.` : `${jobId} had ended already.`;
    return { content: `${what}\n${jobStatusLine(status)}` };
  },
});
