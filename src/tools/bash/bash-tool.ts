/** The tool `bash`: one shell command in the workspace, awaited or in the background, confined where a sandbox works. */
import { z } from 'zod';
import { assertNever } from '../../contract/failures.js';
import type { CapturedStream, CommandEnding, CommandResult } from '../execution-provider.js';
import { blobLocator } from '../result-bounds.js';
import { defineTool, type ToolOutput } from '../tool.js';
import { pathParameter, scopeOf } from '../tool-paths.js';

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;
/** Of a background command. */
const DEFAULT_JOB_MS = 86_400_000;
/** Beyond the command's own timeout: time to end its processes and to keep its output. */
const CLOSING_MS = 15_000;

const parameters = z.strictObject({
  command: z
    .string()
    .min(1)
    .refine((command) => !command.includes('\0'), 'must not hold a NUL character')
    .describe('The command for bash -c.'),
  description: z.string().optional().describe('What it does, in a few words for people who watch.'),
  timeout_ms: z
    .number()
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .optional()
    .describe(
      `Default ${String(DEFAULT_TIMEOUT_MS)} (in the background a day), at most ${String(MAX_TIMEOUT_MS)}.`,
    ),
  workdir: pathParameter('The folder to run in. Default: the workspace.').optional(),
  run_in_background: z
    .boolean()
    .optional()
    .describe('Start it and return its job id at once; job_output and job_kill go on from there.'),
  sandbox_permissions: z
    .enum(['default', 'escalated'])
    .optional()
    .describe(
      'escalated: ask a person to let it run outside of the sandbox. Only for a command that failed because of it.',
    ),
  justification: z.string().optional().describe('For the person: why the command has to be escalated.'),
});
type Parameters = z.infer<typeof parameters>;

export const bashTool = defineTool({
  name: 'bash',
  description:
    'Runs a shell command in a fresh bash; variables and the working folder do not last to the next call. Standard ' +
    'input is empty. The result has both outputs and ends with the exit code; of large output it has the beginning ' +
    'and the end. Processes that the command leaves running are ended with it; what is to go on runs in the background. To look at files use read, glob and grep.',
  parameters,
  effect: 'effect',
  permission: 'shell',
  pathArguments: ['workdir'],
  concurrency: () => 'exclusive',
  timeoutMs: ({ timeout_ms: timeoutMs = DEFAULT_TIMEOUT_MS }) => timeoutMs + CLOSING_MS,
  grantArguments: ['command', 'workdir', 'run_in_background'],
  escalation: (args) => (isEscalated(args) ? escalationReason(args) : undefined),
  preview: ({ command }) => ({ kind: 'command', text: command }),
  execute: async (args, context) => {
    const { command, workdir, run_in_background: inBackground = false } = args;
    const request = {
      scope: scopeOf(context),
      command,
      workdir,
      sandbox: isEscalated(args) ? null : context.sandbox,
      idempotencyKey: context.idempotencyKey,
    };
    if (inBackground) {
      const jobId = await context.jobs.start({ ...request, timeoutMs: args.timeout_ms ?? DEFAULT_JOB_MS });
      return {
        content: `Started in the background as ${jobId}. job_output reads what it writes, job_kill ends it.`,
      };
    }
    const timeoutMs = args.timeout_ms ?? DEFAULT_TIMEOUT_MS;
    const { signal, output, saveBlob } = context;
    const result = await context.execution.runCommand({ ...request, timeoutMs, signal, output, saveBlob });
    return render(result, timeoutMs, request.sandbox === null ? [] : sandboxNote(result));
  },
});

/** What commands say that a sandbox has stopped. */
const STOPPED =
  /read-only file system|network is unreachable|could not resolve|name resolution|operation not permitted/i;

/** A failure that the sandbox may be behind is explained: the model cannot tell it from a broken machine. */
function sandboxNote({ ending, stderr }: CommandResult): string[] {
  const failed = ending.kind === 'exited' && ending.exitCode !== 0;
  if (!failed || !STOPPED.test(stderr.head + stderr.tail)) return [];
  return [
    '[the sandbox lets commands write in the workspace at most, and has no network; where that is the reason, ' +
      'sandbox_permissions: escalated with a justification asks a person]',
  ];
}

function isEscalated({ sandbox_permissions: permissions }: Parameters): boolean {
  return permissions === 'escalated';
}

function escalationReason({ justification = '' }: Parameters): string {
  const why = justification.trim() === '' ? 'It gives no reason.' : `It says why: ${justification.trim()}`;
  return `The model asks to run this command outside of the sandbox. ${why}`;
}

function render(
  { ending, stdout, stderr, leftovers }: CommandResult,
  timeoutMs: number,
  notes: readonly string[],
): ToolOutput {
  const parts = [renderStream(stdout)];
  if (stderr.bytes > 0) parts.push('[stderr]', renderStream(stderr));
  parts.push(...blobNote('stdout', stdout), ...blobNote('stderr', stderr));
  if (leftovers > 0) {
    parts.push(`[${String(leftovers)} ${leftovers === 1 ? 'process' : 'processes'} left running and ended]`);
  }
  parts.push(...notes, `[${describeEnding(ending, timeoutMs)}]`);
  const content = parts.filter((part) => part !== '').join('\n');
  if (ending.kind !== 'timed-out') return { content };
  return { content, isError: true, error: { name: 'CommandTimeout', code: 'TOOL_TIMEOUT' } };
}

function renderStream({ bytes, binary, head, tail, omittedBytes }: CapturedStream): string {
  if (binary !== undefined) return `[binary output: ${String(bytes)} bytes, ${binary}]`;
  const end = omittedBytes === 0 ? '' : `\n[${String(omittedBytes)} bytes left out]\n${tail}`;
  return (head + end).replace(/\n$/, '');
}

/** Where the whole of a stream is; at the end of the result, where no size bound cuts it off. */
function blobNote(name: string, { bytes, binary, blob }: CapturedStream): string[] {
  if (blob === undefined) return [];
  const kept =
    blob.bytes === bytes ? `all ${String(bytes)}` : `the first ${String(blob.bytes)} of ${String(bytes)}`;
  const advice = binary === undefined ? ', which read shows' : '';
  return [`[${name}: ${kept} bytes are in ${blobLocator(blob.sha256)}${advice}]`];
}

function describeEnding(ending: CommandEnding, timeoutMs: number): string {
  switch (ending.kind) {
    case 'exited':
      return `exit code: ${String(ending.exitCode)}`;
    case 'signalled':
      return `killed by signal ${ending.signal}`;
    case 'timed-out':
      return `timed out after ${String(timeoutMs)} ms`;
    default:
      return assertNever(ending);
  }
}
