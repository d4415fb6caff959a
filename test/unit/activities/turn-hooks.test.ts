import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  askRequestError,
  askTurnStopping,
  runPreStep,
  runRequestHooks,
} from '../../../src/activities/run-turn-hooks.js';
import {
  betweenStepsMs,
  type ClaimedEntry,
  type HookPlace,
  type PreStepHook,
  type PreStepInput,
  type RequestErrorInput,
  type RequestInput,
} from '../../../src/activities/turn-hooks.js';
import type { RequestId } from '../../../src/contract/ids.js';
import { HOOK_DEADLINE_MS } from '../../../src/tools/hooks.js';
import { NO_TURN_HOOKS } from '../../support/no-hooks.js';

afterEach(() => {
  vi.useRealTimers();
});

const PLACE: HookPlace = {
  session: {
    id: 's1',
    uid: '01890000-0000-7000-8000-000000000000',
    workspace: '/w',
    profile: 'default',
    provider: 'demo',
    model: 'demo',
    permission: 'workspace-write',
    metadata: {},
  },
  turn: 3,
  step: 1,
};

const text = (value: string) => [{ type: 'text', text: value }] as const;
const entry = (itemId: string): ClaimedEntry => ({
  itemId,
  content: text(itemId),
  source: { kind: 'user', requestId: `r-${itemId}` as RequestId },
  at: '2026-01-01T00:00:00.000Z',
});
const preStepInput = (...ids: string[]): PreStepInput => ({
  ...PLACE,
  entries: ids.map(entry),
  readBlob: async () => undefined,
});
const hook = <F>(name: string, run: F) => ({ name, run });
const fails = (): never => {
  throw new Error('broken');
};
const hangs = () => new Promise<undefined>(() => {});

function recordingLogger() {
  const warnings: { err: Error }[] = [];
  const warn = (line: unknown) => void warnings.push(line as { err: Error });
  return { warnings, logger: { warn } };
}

describe('the pre-step hooks', () => {
  it('let a step enter as it is where none has an opinion, or there is none', async () => {
    const input = preStepInput('a', 'b');
    const entered = { kind: 'enter', entries: input.entries, added: [] };
    expect(await runPreStep(NO_TURN_HOOKS.preStep, input)).toEqual(entered);
    expect(await runPreStep([hook('quiet', () => undefined)], input)).toEqual(entered);
  });

  it('rewrite the entries that they name, which the next hook then sees, and keep what else an entry has', async () => {
    const seen: unknown[] = [];
    const outcome = await runPreStep(
      [
        hook<PreStepHook>('mask', () => ({ kind: 'rewrite', entries: [{ itemId: 'b', content: '***' }] })),
        hook<PreStepHook>('look', ({ entries }) => void seen.push(entries.map(({ content }) => content))),
      ],
      preStepInput('a', 'b'),
    );
    expect(seen).toEqual([[text('a'), text('***')]]);
    expect(outcome).toEqual({
      kind: 'enter',
      entries: [entry('a'), { ...entry('b'), content: text('***') }],
      added: [],
    });
  });

  it('add messages under their names, in their order', async () => {
    const add =
      (content: string): PreStepHook =>
      () => ({ kind: 'add', content });
    const outcome = await runPreStep([hook('one', add('1')), hook('two', add('2'))], preStepInput('a'));
    expect(outcome).toMatchObject({
      added: [
        { hook: 'one', content: text('1') },
        { hook: 'two', content: text('2') },
      ],
    });
  });

  it('reject for all: the hooks after the one that rejects are not asked', async () => {
    const after = vi.fn<PreStepHook>();
    const outcome = await runPreStep(
      [hook<PreStepHook>('gate', () => ({ kind: 'reject', note: 'Not today.' })), hook('after', after)],
      preStepInput('a'),
    );
    expect(outcome).toEqual({ kind: 'blocked', hook: 'gate', note: 'Not today.' });
    expect(after).not.toHaveBeenCalled();
  });

  it('block by name where one throws, or rewrites what is not there', async () => {
    expect(await runPreStep([hook('bad', fails)], preStepInput('a'))).toEqual({
      kind: 'blocked',
      hook: 'bad',
      note: 'The hook bad failed: broken',
    });
    const strange: PreStepHook = () => ({ kind: 'rewrite', entries: [{ itemId: 'z', content: 'x' }] });
    expect(await runPreStep([hook('odd', strange)], preStepInput('a'))).toMatchObject({
      kind: 'blocked',
      hook: 'odd',
      note: expect.stringContaining('"z"') as string,
    });
  });

  it('keep only the head of a long message of an error, which goes into the log', async () => {
    const run = () => {
      throw new Error('x'.repeat(100_000));
    };
    const outcome = await runPreStep([hook('bad', run)], preStepInput('a'));
    expect(JSON.stringify(outcome).length).toBeLessThan(1000);
  });

  it.each([
    [undefined, HOOK_DEADLINE_MS],
    [20_000, 20_000],
  ])('block where one is late; with timeoutMs %s that is after %s ms', async (timeoutMs, deadlineMs) => {
    vi.useFakeTimers();
    const slow = { ...hook('slow', hangs), ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    const ended = vi.fn();
    const running = runPreStep([slow], preStepInput('a')).finally(ended);
    await vi.advanceTimersByTimeAsync(deadlineMs - 1);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await running).toMatchObject({ kind: 'blocked', hook: 'slow' });
  });
});

describe('the request hooks', () => {
  const input: RequestInput = {
    ...PLACE,
    request: { provider: 'p', model: 'm', parameters: { temperature: 1 }, tools: ['bash', 'glob', 'read'] },
  };

  it('change parts of the request, one after the other', async () => {
    const outcome = await runRequestHooks(
      [
        hook('fast', () => ({ kind: 'change', model: 'small', parameters: { maxTokens: 10 } }) as const),
        hook('wise', ({ request }: RequestInput) => ({
          kind: 'change' as const,
          parameters: { ...request.parameters, temperature: 0 },
        })),
        hook('quiet', () => undefined),
      ],
      input,
    );
    expect(outcome).toEqual({
      kind: 'request',
      request: {
        provider: 'p',
        model: 'small',
        parameters: { maxTokens: 10, temperature: 0 },
        tools: ['bash', 'glob', 'read'],
      },
    });
  });

  it('leave tools out, and the others in the order that stands', async () => {
    const run = () => ({ kind: 'change', tools: ['read', 'bash'] }) as const;
    const outcome = await runRequestHooks([hook('fewer', run)], input);
    expect(outcome).toMatchObject({ request: { tools: ['bash', 'read'] } });
  });

  it('block by name where one fails, or offers a tool that an earlier one has left out', async () => {
    expect(await runRequestHooks([hook('bad', fails)], input)).toMatchObject({
      kind: 'blocked',
      hook: 'bad',
    });
    const offer =
      (...tools: string[]) =>
      () =>
        ({ kind: 'change', tools }) as const;
    const outcome = await runRequestHooks([hook('less', offer('read')), hook('more', offer('bash'))], input);
    expect(outcome).toMatchObject({
      kind: 'blocked',
      hook: 'more',
      note: expect.stringContaining('"bash"') as string,
    });
  });
});

describe('the hooks about a failed attempt', () => {
  const input: RequestErrorInput = {
    ...PLACE,
    code: 'RATE_LIMIT',
    status: 429,
    message: 'Slow down.',
    attempt: 1,
    retryable: true,
    delayMs: 500,
  };

  it('have their say until one has an opinion, and it counts under its name', async () => {
    const last = vi.fn(() => ({ kind: 'give-up' }) as const);
    const verdict = await askRequestError(
      [
        hook('quiet', () => undefined),
        hook('patient', ({ delayMs }: RequestErrorInput) => ({
          kind: 'retry' as const,
          delayMs: delayMs * 2,
        })),
        hook('last', last),
      ],
      input,
      recordingLogger().logger,
    );
    expect(verdict).toEqual({ kind: 'retry', delayMs: 1000, hook: 'patient' });
    expect(last).not.toHaveBeenCalled();
  });

  it('are logged and have no opinion where they fail; the next one is asked', async () => {
    const { logger, warnings } = recordingLogger();
    const giveUp = hook('strict', () => ({ kind: 'give-up' }) as const);
    expect(await askRequestError([hook('bad', fails), giveUp], input, logger)).toEqual({
      kind: 'give-up',
      hook: 'strict',
    });
    expect(await askRequestError([hook('bad', fails)], input, logger)).toBeUndefined();
    expect(warnings.map(({ err }) => err.message)).toEqual(
      Array(2).fill('The hook bad failed: broken') as string[],
    );
  });
});

describe('the hooks of a turn that is about to stop', () => {
  const input = { ...PLACE, output: 'Done.' };

  it('let it stop, or add what each of them wants', async () => {
    const { logger } = recordingLogger();
    const quiet = hook('quiet', () => undefined);
    expect(await askTurnStopping([quiet], input, logger)).toEqual([]);
    const goOn = (content: string) => () => ({ kind: 'continue', content }) as const;
    expect(
      await askTurnStopping(
        [hook('tests', goOn('Run them.')), quiet, hook('docs', goOn('Write.'))],
        input,
        logger,
      ),
    ).toEqual([
      { hook: 'tests', content: text('Run them.') },
      { hook: 'docs', content: text('Write.') },
    ]);
  });

  it('let it stop where they fail, which is logged', async () => {
    const { logger, warnings } = recordingLogger();
    expect(await askTurnStopping([hook('bad', fails)], input, logger)).toEqual([]);
    expect(warnings).toMatchObject([{ sessionId: 's1', turn: 3, step: 1 }]);
  });
});

describe('the time between two steps', () => {
  it('leaves room for each hook that is asked there, and for no other', () => {
    expect(betweenStepsMs(NO_TURN_HOOKS)).toBe(0);
    const hooks = {
      ...NO_TURN_HOOKS,
      preStep: [hook('a', () => undefined), { ...hook('b', () => undefined), timeoutMs: 30_000 }],
      turnStopping: [{ ...hook('c', () => undefined), timeoutMs: 1000 }],
      requestError: [hook('d', () => undefined)],
    };
    expect(betweenStepsMs(hooks)).toBe(HOOK_DEADLINE_MS + 31_000);
  });
});
