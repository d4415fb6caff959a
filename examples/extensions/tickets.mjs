/**
 * An extension for a support team: a tool that files tickets in the workspace, and rules around the agent.
 *
 * It imports nothing of Turnkeeper: what it needs it is handed.
 */
import { createHash } from 'node:crypto';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** @type {import('turnkeeper').Extension} */
const extension = ({ defineTool, defineHook, z, ToolError, logger }) => {
  const fileTicket = defineTool({
    name: 'file_ticket',
    description: 'Files a ticket for the team and says its number. One call for one problem.',
    parameters: z.strictObject({
      title: z.string().min(1).max(80).describe('The problem in one line.'),
      urgent: z.boolean().default(false),
    }),
    effect: 'idempotent',
    permission: 'write',
    timeoutMs: 10_000,
    async execute({ title, urgent }, { idempotencyKey, workspace, signal }) {
      // The same call has the same key, also when a crash made it run again: so the same number, and one file.
      const number = createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 8);
      const folder = join(workspace, 'tickets');
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, `${number}.json`), JSON.stringify({ title, urgent }), { signal });
      return { content: `Filed as ticket ${number}.` };
    },
  });

  const handOver = defineTool({
    name: 'hand_over',
    description: 'Ends your work and leaves the rest to a person, who reads the ticket.',
    parameters: z.strictObject({ ticket: z.string().regex(/^[0-9a-f]{8}$/) }),
    effect: 'read',
    permission: 'read',
    async execute({ ticket }, { workspace }) {
      await access(join(workspace, 'tickets', `${ticket}.json`)).catch(() => {
        throw new ToolError('TOOL_ERROR', `There is no ticket ${ticket}. File one first.`);
      });
      return { content: `A person takes over ticket ${ticket}.`, meta: { concludesTurn: true } };
    },
  });

  return [
    fileTicket,
    handOver,

    defineHook('agent/pre-step', {
      name: 'no-private-keys',
      async run({ entries, readBlob }) {
        for (const block of entries.flatMap((entry) => entry.content)) {
          if (PRIVATE_KEY.test(await textOf(block, readBlob))) {
            return { kind: 'reject', note: 'The prompt holds a private key. Send it without.' };
          }
        }
      },
    }),

    defineHook('tools/guard', {
      name: 'no-pushes',
      run({ name, arguments: { command } }) {
        if (name === 'bash' && /\bgit\s+push\b/.test(String(command))) {
          return { kind: 'deny', reason: 'Only people push. Leave the commit where it is.' };
        }
      },
    }),

    defineHook('session/event', {
      name: 'count-turns',
      run({ type, sessionId, turn, data }) {
        if (type === 'turn/end') logger.info({ sessionId, turn, reason: data.reason.kind }, 'a turn ended');
      },
    }),
  ];
};

/**
 * A long text is kept apart from its prompt, as a blob.
 *
 * @param {import('turnkeeper').InputBlock} block
 * @param {import('turnkeeper').PreStepInput['readBlob']} readBlob
 */
async function textOf(block, readBlob) {
  if (block.type === 'text') return block.text;
  if (block.type !== 'blob') return '';
  return new TextDecoder().decode(await readBlob(block.sha256));
}

export default extension;
