/** The command line: names, flags and their help. What a command does is in `commands/`. */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { promptModeSchema } from '../contract/events.js';
import { sessionStatusSchema, turnStatusSchema, whenRunningSchema } from '../contract/http.js';
import { keyRightSchema } from '../contract/keys.js';
import { permissionModeSchema } from '../contract/session.js';
import type { ConfigurationFlags } from '../runtime/configuration/settings.js';
import { VERSION } from '../runtime/version.js';
import type { ListAsksOptions } from './ask-list.js';
import { explain, UsageError } from './cli-error.js';
import type { CliIo } from './cli-io.js';
import { decideApprovals, listApprovals, showApproval, type DecideOptions } from './commands/approvals.js';
import { deleteSessions, pruneSessions, type PruneOptions } from './commands/delete-sessions.js';
import { exportSession, type ExportOptions } from './commands/export.js';
import { followSession, type FollowCommandOptions } from './commands/follow.js';
import { importSession, type ImportCommandOptions } from './commands/import.js';
import { createApiKey, listApiKeys, revokeApiKey, type CreateKeyOptions } from './commands/keys.js';
import { answerQuestion, listQuestions, showQuestion } from './commands/questions.js';
import { editQueued, listQueue, moveQueued, removeQueued } from './commands/queue.js';
import { run, type RunOptions } from './commands/run.js';
import {
  cancelSession,
  listSessions,
  sendPrompt,
  type PromptOptions,
  type SessionsOptions,
} from './commands/sessions.js';
import { listTurns, type TurnsOptions } from './commands/turns.js';
import { connect, connectOrStart, type ServerFlags } from './connect.js';
import { EXIT } from './exit-codes.js';
import { addMaintenance } from './maintenance-commands.js';
import { withHome, withServer } from './place-options.js';
import { serve } from './serve.js';

/** Runs the command that the arguments name and returns its exit code. Never throws: errors are explained on stderr. */
export async function runCli(args: readonly string[], io: CliIo): Promise<number> {
  let code: number = EXIT.completed;
  const program = createProgram(io, (exitCode) => {
    code = exitCode;
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    // Help and version are no errors; what commander refuses it has explained already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.usage;
    await io.stderr.write(`turnkeeper: ${explain(error)}\n`);
    return error instanceof UsageError ? EXIT.usage : EXIT.error;
  }
}

function createProgram(io: CliIo, finish: (code: number) => void): Command {
  const program = new Command('turnkeeper')
    .description('Runs agent turns that cannot be lost.')
    .version(VERSION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    });

  withHome(program.command('serve'))
    .description('serve the API with everything it needs, until it is stopped')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on; 0 takes any free one')
    .option('--store-url <url>', 'where the session log is')
    .option('--temporal-address <host:port>', 'an existing Temporal server')
    .option('--temporal-namespace <name>', 'its namespace')
    .action(async (flags: ConfigurationFlags) => {
      finish(await serve(flags, io));
    });

  withServer(program.command('run'))
    .argument('[task]', 'the task; "-", or nothing, reads standard input')
    .description('run one task; the answer goes to standard output')
    .option('--session <id>', 'go on with this session, or make it')
    .option('--profile <name>', 'profile of the session')
    .option('--provider <name>', 'provider of the model')
    .option('--model <name>', 'model')
    .option('--cwd <folder>', 'workspace; default: the working folder')
    .addOption(
      new Option('--permission <mode>', 'what tools may do without asking').choices(
        permissionModeSchema.options,
      ),
    )
    .option('--max-steps <n>', 'steps that the turn may take', positiveInteger)
    .option('--timeout <seconds>', 'cancel the turn after this time', positiveNumber)
    .option('--json', 'print the log events as NDJSON in place of the answer')
    .action(async (task: string | undefined, options: RunOptions) => {
      finish(await run(task, options, io, () => connectOrStart(options, io)));
    });

  withServer(program.command('follow'))
    .argument('<session>', 'session id')
    .description('show a session live')
    .option('--after <cursor>', 'begin after this cursor; default: from the start')
    .option('--until-turn-end', 'end with the open turn')
    .option('--turn <n>', 'end with this turn', positiveInteger)
    .option('--json', 'print the log events as NDJSON')
    .action(async (session: string, options: FollowCommandOptions & ServerFlags) => {
      finish(await followSession(session, options, io, connect(options, io).client));
    });

  addSessions(program.command('sessions'), io, finish);

  withServer(program.command('turns'))
    .description('list turns of all sessions, newest first')
    .option('--session <id>', 'only those of this session')
    .addOption(new Option('--status <status>', 'only turns in this state').choices(turnStatusSchema.options))
    .option('--profile <name>', 'only turns that were entered with this profile')
    .option('--since <time>', 'only turns that started at this time (ISO 8601) or later')
    .option('--until <time>', 'only turns that started before this time')
    .option('--metadata <key=value>', 'only of sessions whose metadata has this; may be repeated', collected)
    .option('--limit <n>', 'how many at most (20)', positiveInteger)
    .option('--json', 'print them as NDJSON')
    .action(async (options: TurnsOptions & ServerFlags) => {
      finish(await listTurns(options, io, connect(options, io).client));
    });

  withServer(program.command('prompt'))
    .argument('<session>', 'session id')
    .argument('[text]', 'the prompt; "-", or nothing, reads standard input')
    .description('send a prompt without waiting for its answer')
    .addOption(new Option('--mode <mode>', 'how it enters').choices(promptModeSchema.options))
    .addOption(
      new Option('--when-running <what>', 'do not wait for the running turn').choices(
        whenRunningSchema.options,
      ),
    )
    .option('--request-id <id>', 'the same id is never taken twice')
    .action(async (sessionId: string, argument: string | undefined, options: PromptOptions & ServerFlags) => {
      finish(await sendPrompt({ sessionId, argument }, options, io, connect(options, io).client));
    });

  withServer(program.command('cancel'))
    .argument('<session>', 'session id')
    .description('cancel the open turn of a session')
    .option('--turn <n>', 'cancel this turn', positiveInteger)
    .action(async (session: string, options: { readonly turn?: number } & ServerFlags) => {
      finish(await cancelSession(session, options, io, connect(options, io).client));
    });

  addQueue(program.command('queue'), io, finish);
  addApprovals(program.command('approvals'), io, finish);
  addQuestions(program.command('questions'), io, finish);
  addKeys(program.command('keys'), io, finish);

  withServer(program.command('export'))
    .argument('<session>', 'session id')
    .description('print the log of a session as NDJSON')
    .option('--with-blobs', 'print the whole session as one file, which import takes')
    .option('--request <turn/step>', 'print the exact request of that step in place of the log')
    .option('--output <file>', 'write to a file in place of standard output')
    .action(async (session: string, options: ExportOptions & ServerFlags) => {
      finish(await exportSession(session, options, io, connect(options, io).client));
    });

  withServer(program.command('import'))
    .argument('<file>', 'what export --with-blobs has written; "-" reads standard input')
    .description('make a session of an exported file')
    .option('--id <id>', 'its id; default: the one in the file')
    .option('--cwd <folder>', 'its workspace; default: a fresh folder')
    .option('--repair', 'open a file that was cut or damaged up to where it is whole')
    .action(async (file: string, options: ImportCommandOptions & ServerFlags) => {
      finish(await importSession(file, options, io, connect(options, io).client));
    });

  addMaintenance(program, io, finish);

  return program;
}

function addQueue(queue: Command, io: CliIo, finish: (code: number) => void): void {
  queue.description('prompts that wait in a session: list, edit, steer, wait, remove');
  const ofItem = (name: string, description: string) =>
    withServer(queue.command(name))
      .argument('<session>', 'session id')
      .argument('<item>', 'item id, as the list has it')
      .description(description);

  withServer(queue.command('list', { isDefault: true }))
    .argument('<session>', 'session id')
    .description('list what waits, in the order in which it is taken')
    .option('--json', 'print it as NDJSON')
    .action(async (session: string, options: { readonly json?: boolean } & ServerFlags) => {
      finish(await listQueue(session, options, io, connect(options, io).client));
    });

  ofItem('edit', 'put another text in its place')
    .argument('[text]', 'the text; "-", or nothing, reads standard input')
    .action(async (session: string, item: string, text: string | undefined, options: ServerFlags) => {
      finish(await editQueued({ session, item }, text, io, connect(options, io).client));
    });

  for (const [name, mode, description] of [
    ['steer', 'steer', 'let the running turn take it at its next step'],
    ['wait', 'queue', 'let it have a turn of its own'],
  ] as const) {
    ofItem(name, description).action(async (session: string, item: string, options: ServerFlags) => {
      finish(await moveQueued({ session, item }, mode, io, connect(options, io).client));
    });
  }

  ofItem('remove', 'take it out').action(async (session: string, item: string, options: ServerFlags) => {
    finish(await removeQueued({ session, item }, io, connect(options, io).client));
  });
}

function addSessions(sessions: Command, io: CliIo, finish: (code: number) => void): void {
  sessions.description('list and delete sessions');

  withServer(sessions.command('list', { isDefault: true }))
    .description('list sessions, newest first')
    .addOption(
      new Option('--status <status>', 'only sessions in this state').choices(sessionStatusSchema.options),
    )
    .option('--limit <n>', 'how many at most (20)', positiveInteger)
    .option('--json', 'print them as NDJSON')
    .action(async (options: SessionsOptions & ServerFlags) => {
      finish(await listSessions(options, io, connect(options, io).client));
    });

  withServer(sessions.command('delete'))
    .argument('<session...>', 'session ids')
    .description('delete sessions with all their data, whatever they are doing')
    .action(async (ids: string[], options: ServerFlags) => {
      finish(await deleteSessions(ids, io, connect(options, io).client));
    });

  withServer(sessions.command('prune'))
    .description('delete sessions in which nothing was done for long')
    .requiredOption('--older-than <age>', 'how long, such as 30d, 12h or 90m')
    .option('--dry-run', 'only print which')
    .action(async (options: PruneOptions & ServerFlags) => {
      finish(await pruneSessions(options, io, connect(options, io).client));
    });
}

function addApprovals(approvals: Command, io: CliIo, finish: (code: number) => void): void {
  approvals.description('what waits for consent: list, show, allow, deny');

  withListing(approvals.command('list', { isDefault: true }))
    .description('list approvals of all sessions, newest first')
    .action(async (options: ListAsksOptions & ServerFlags) => {
      finish(await listApprovals(options, io, connect(options, io).client));
    });

  withServer(approvals.command('show'))
    .argument('<id>', 'approval id; of an open one its beginning is enough')
    .description('print what a call would do, why it is asked about, and who decided')
    .option('--json', 'print it as JSON')
    .action(async (id: string, options: { readonly json?: boolean } & ServerFlags) => {
      finish(await showApproval(id, options, io, connect(options, io).client));
    });

  withServer(approvals.command('allow'))
    .argument('<id...>', 'approval ids, or their beginnings')
    .description('let calls run')
    .option('--for-session', 'and later calls of the tool with the same arguments')
    .option('--match <argument=glob>', 'with --for-session: which later calls; may be repeated', collected)
    .option('--arguments <json>', 'what runs in the place of what the model asked for')
    .option('--note <text>', 'why')
    .action(async (ids: string[], options: DecideOptions & ServerFlags) => {
      finish(await decideApprovals({ ids, outcome: 'allow' }, options, io, connect(options, io).client));
    });

  withServer(approvals.command('deny'))
    .argument('<id...>', 'approval ids, or their beginnings')
    .description('keep calls from running')
    .option('--note <text>', 'why; the model reads it')
    .action(async (ids: string[], options: DecideOptions & ServerFlags) => {
      finish(await decideApprovals({ ids, outcome: 'deny' }, options, io, connect(options, io).client));
    });
}

function addQuestions(questions: Command, io: CliIo, finish: (code: number) => void): void {
  questions.description('what the model asks of a person: list, show, answer');

  withListing(questions.command('list', { isDefault: true }))
    .description('list questions of all sessions, newest first')
    .action(async (options: ListAsksOptions & ServerFlags) => {
      finish(await listQuestions(options, io, connect(options, io).client));
    });

  withServer(questions.command('show'))
    .argument('<id>', 'question id; of an open one its beginning is enough')
    .description('print what is asked, and what was answered')
    .option('--json', 'print it as JSON')
    .action(async (id: string, options: { readonly json?: boolean } & ServerFlags) => {
      finish(await showQuestion(id, options, io, connect(options, io).client));
    });

  withServer(questions.command('answer'))
    .argument('<id>', 'question id, or its beginning')
    .description('answer, by flags or at the terminal')
    .option('--answer <question=answer>', 'an option, or free words; may be repeated', collected)
    .action(async (id: string, options: { readonly answer?: string[] } & ServerFlags) => {
      finish(await answerQuestion(id, options, io, connect(options, io).client));
    });
}

function addKeys(keys: Command, io: CliIo, finish: (code: number) => void): void {
  keys.description('API keys of the home: create, list, revoke');

  withHome(keys.command('create'))
    .description('make a key and print it; it is shown this once')
    .requiredOption('--name <name>', 'whom the log names as the author')
    .option('--tenant <tenant>', 'whose sessions it sees', 'default')
    .requiredOption('--rights <list>', `of ${keyRightSchema.options.join(', ')}; separated by commas`)
    .addOption(
      new Option('--permission <mode>', 'the widest mode of its sessions (workspace-write)').choices(
        permissionModeSchema.options,
      ),
    )
    .option(
      '--workspace-root <folder>',
      'where its sessions may work; may be repeated; else fresh',
      collected,
    )
    .option('--requests-per-minute <n>', 'rate limit; default: none', positiveInteger)
    .option('--prompts-per-day <n>', 'quota of a day of UTC; default: none', positiveInteger)
    .action(async (options: CreateKeyOptions) => {
      finish(await createApiKey(options, io));
    });

  withHome(keys.command('list', { isDefault: true }))
    .description('list the keys, without their secrets')
    .option('--json', 'print them as NDJSON')
    .action(async (options: ConfigurationFlags & { readonly json?: boolean }) => {
      finish(await listApiKeys(options, io));
    });

  withHome(keys.command('revoke'))
    .argument('<id>', 'key id')
    .description('end a key for good')
    .action(async (id: string, options: ConfigurationFlags) => {
      finish(await revokeApiKey(id, options, io));
    });
}

function withListing(command: Command): Command {
  return withServer(command)
    .option('--session <id>', 'only those of this session')
    .option('--all', 'also what is closed')
    .option('--limit <n>', 'how many at most (100)', positiveInteger)
    .option('--json', 'print them as NDJSON');
}

/** An option that may be given more than once. */
function collected(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.');
  return Number(text);
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (!(value > 0) || value > 2_000_000) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}
