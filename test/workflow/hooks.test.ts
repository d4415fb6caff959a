import { describe, expect, it } from 'vitest';
import type { TurnHooks } from '../../src/activities/turn-hooks.js';
import type { ToolHooks } from '../../src/tools/hooks.js';
import { ASK_RULES, askingTools, type Ran } from '../support/asking-tools.js';
import { checkLog } from '../support/log-invariants.js';
import { NO_HOOKS, NO_TURN_HOOKS } from '../support/no-hooks.js';
import { decide, openApprovals } from '../support/persons.js';
import type { Script } from '../support/scripted-model-server.js';
import { dataOf, turnSetup, type SetupOptions } from '../support/turn-setup.js';

const { start } = turnSetup();
const named = <F>(run: F) => ({ name: 'policy', run });

async function run(script: Script, turnHooks: Partial<TurnHooks>, options: SetupOptions = {}) {
  const ran: Ran[] = [];
  const setup = await start(script, {
    tools: askingTools(ran),
    turnHooks: { ...NO_TURN_HOOKS, ...turnHooks },
    ...options,
  });
  const uid = await setup.runtime.createSession();
  await setup.runtime.prompt(uid, 'go');
  const turn = await setup.runtime.ended(uid, 1);
  const events = await setup.runtime.events(uid);
  expect(checkLog(events)).toEqual([]);
  return { ...setup, uid, turn, events, ran };
}
const sources = (events: Parameters<typeof dataOf>[0]) =>
  dataOf(events, 'user/message').map(({ source, content }) => [
    source.kind,
    content.map((block) => (block.type === 'text' ? block.text : block.type)).join(''),
  ]);

describe('a hook before the step', () => {
  it('that rejects the input ends the turn as blocked, before the model and with the input taken', async () => {
    const { turn, events, model, runtime, uid } = await run([{ text: 'never' }], {
      preStep: [named(() => ({ kind: 'reject', note: 'Not on Sundays.' }))],
    });
    expect(turn.reason).toEqual({ kind: 'blocked', hook: 'policy', note: 'Not on Sundays.' });
    expect(model.requests).toHaveLength(0);
    expect(dataOf(events, 'user/message')).toEqual([]);
    expect((await runtime.store.readState(uid)).inbox.nextTurn).toEqual([]);
  });

  it('that throws blocks, and names itself', async () => {
    const { turn } = await run([{ text: 'never' }], {
      preStep: [
        named(() => {
          throw new Error('no connection');
        }),
      ],
    });
    expect(turn.reason).toMatchObject({ kind: 'blocked', hook: 'policy' });
  });

  it('rewrites the input and adds to it; the log has what the model saw', async () => {
    const { events, model } = await run([{ text: 'Done.' }], {
      preStep: [
        named(({ entries }) => ({
          kind: 'rewrite',
          entries: entries.map(({ itemId }) => ({ itemId, content: 'go safely' })),
        })),
        { name: 'second', run: () => ({ kind: 'add', content: 'Mind the budget.' }) },
      ],
    });
    expect(sources(events).filter(([kind]) => kind !== 'context')).toEqual([
      ['user', 'go safely'],
      ['hook', 'Mind the budget.'],
    ]);
    expect(model.requests[0]?.raw).toContain('go safely');
    expect(model.requests[0]?.raw).not.toContain('"go"');
  });

  it('that blocks a later step settles the turn with what it has done', async () => {
    const { turn, ran } = await run(
      [{ calls: [{ name: 'look', arguments: { text: 'once' } }] }, { text: 'never' }],
      { preStep: [named(({ step }) => (step === 2 ? { kind: 'reject', note: 'Enough.' } : undefined))] },
    );
    expect(turn.reason).toMatchObject({ kind: 'blocked', note: 'Enough.' });
    expect(ran).toHaveLength(1);
  });
});

describe('a hook of the request', () => {
  it('changes parameters and tools, which the header records, and a call of a tool that it left out is unknown', async () => {
    const { events, ran } = await run(
      [{ calls: [{ name: 'look', arguments: { text: 'x' } }] }, { text: 'Done.' }],
      {
        request: [
          named(() => ({
            kind: 'change',
            parameters: { temperature: 0.5 },
            tools: ['announce'],
          })),
        ],
      },
    );
    expect(dataOf(events, 'request/header')).toHaveLength(1);
    expect(dataOf(events, 'request/header')[0]).toMatchObject({
      parameters: { temperature: 0.5 },
      tools: [{ name: 'announce' }],
    });
    expect(dataOf(events, 'tool/result')[0]?.error?.code).toBe('UNKNOWN_TOOL');
    expect(ran).toEqual([]);
  });

  it('that names a model which is not there ends the turn with an error', async () => {
    const { turn } = await run([{ text: 'never' }], {
      request: [named(() => ({ kind: 'change', model: 'nowhere' }))],
    });
    expect(turn.reason).toMatchObject({ kind: 'error', code: 'UNKNOWN_MODEL' });
  });
});

describe('a hook around the stream', () => {
  it('changes what is shown and stored alike', async () => {
    const { turn } = await run([{ text: 'the password is 123' }], {
      stream: [
        named(async function* (_input, next) {
          for await (const chunk of next()) {
            yield chunk.type === 'text-delta' ? { ...chunk, text: chunk.text.replaceAll(/\d/g, '*') } : chunk;
          }
        }),
      ],
    });
    expect(turn.output).toBe('the password is ***');
  });
});

describe('a hook on a failed attempt', () => {
  it('gives up what would be retried', async () => {
    const { turn, model } = await run([{ status: 500 }, { text: 'never' }], {
      requestError: [named(() => ({ kind: 'give-up' }))],
    });
    expect(turn.reason).toMatchObject({ kind: 'error', code: 'SERVER' });
    expect(model.requests).toHaveLength(1);
  });

  it('retries what would be final, after its own delay, and is named in the log', async () => {
    const { turn, events } = await run([{ status: 400 }, { text: 'Done.' }], {
      requestError: [named(() => ({ kind: 'retry', delayMs: 5 }))],
    });
    expect(turn.output).toBe('Done.');
    expect(dataOf(events, 'llm/retry')).toMatchObject([{ delayMs: 5, hook: 'policy' }]);
  });

  it('cannot retry without end', async () => {
    const { turn, model } = await run(
      [{ status: 400 }, { status: 400 }, { status: 400 }, { text: 'never' }],
      {
        requestError: [named(() => ({ kind: 'retry', delayMs: 1 }))],
      },
    );
    expect(turn.reason).toMatchObject({ kind: 'error', code: 'INVALID_REQUEST' });
    expect(model.requests).toHaveLength(3);
  });
});

describe('a hook on a turn that stops', () => {
  it('adds input and lets the turn go on, as often as its limit of steps allows', async () => {
    const seen: string[] = [];
    const { turn, events } = await run([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }], {
      turnStopping: [
        named(({ output }) => {
          seen.push(output);
          return seen.length < 3 ? { kind: 'continue', content: `After ${output}` } : undefined;
        }),
      ],
    });
    expect(turn.output).toBe('Three.');
    expect(seen).toEqual(['One.', 'Two.', 'Three.']);
    expect(sources(events).filter(([kind]) => kind === 'hook')).toEqual([
      ['hook', 'After One.'],
      ['hook', 'After Two.'],
    ]);
  });

  it('cannot go past the limit of steps', async () => {
    const { turn } = await run(
      [{ text: 'One.' }, { text: 'Two.' }],
      { turnStopping: [named(() => ({ kind: 'continue', content: 'more' }))] },
      {
        profile: {
          permission: 'full-access',
          limits: { steps: 2, wallTimeMs: null, tokens: null, costUsd: null },
        },
      },
    );
    expect(turn.reason).toMatchObject({ kind: 'limit', which: 'steps' });
  });
});

describe('a hook before a call', () => {
  const toolHooks = (preExecute: ToolHooks['preExecute'][number]['run']): ToolHooks => ({
    ...NO_HOOKS,
    preExecute: [named(preExecute)],
  });

  it('is asked once, and its rewritten arguments are what a person sees and what runs', async () => {
    let asked = 0;
    const ran: Ran[] = [];
    const { runtime } = await start(
      [{ calls: [{ name: 'deliver', arguments: { text: 'milk' } }] }, { text: 'Done.' }],
      {
        tools: askingTools(ran),
        profile: { permission: 'workspace-write', rules: ASK_RULES },
        toolHooks: toolHooks(() => {
          asked += 1;
          return { kind: 'rewrite', arguments: { text: `milk ${String(asked)}` } };
        }),
      },
    );
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const [id] = await openApprovals(runtime, uid, 1);
    // A fresh run of the turn finds what was recorded.
    await runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`).terminate();
    await runtime.engine.startTurn(uid, 1);
    await decide(runtime, uid, id as never);
    await runtime.ended(uid, 1);
    const events = await runtime.events(uid);
    expect(dataOf(events, 'approval/asked')).toMatchObject([
      { arguments: '{"text":"milk 1"}', preview: { text: 'deliver milk 1' } },
    ]);
    expect(dataOf(events, 'tool/call')[0]?.arguments).toBe('{"text":"milk"}');
    expect(ran).toEqual([{ tool: 'deliver', text: 'milk 1' }]);
    expect(asked).toBe(1);
  });

  it.each(['it is gone', 'it has come'])(
    'does not change what a person was asked about, where %s meanwhile',
    async (change) => {
      const ran: Ran[] = [];
      const tools = askingTools(ran);
      const rewriting = toolHooks(() => ({ kind: 'rewrite', arguments: { text: 'rewritten' } }));
      const [before, after] = change === 'it is gone' ? [rewriting, NO_HOOKS] : [NO_HOOKS, rewriting];
      const { runtime } = await start(
        [{ calls: [{ name: 'deliver', arguments: { text: 'milk' } }] }, { text: 'Done.' }],
        { tools, profile: { permission: 'workspace-write', rules: ASK_RULES }, toolHooks: before },
      );
      const uid = await runtime.createSession();
      await runtime.prompt(uid, 'go');
      const [id] = await openApprovals(runtime, uid, 1);
      const seen = dataOf(await runtime.events(uid), 'approval/asked')[0]?.arguments;
      await runtime.restart({ tools, toolHooks: after });
      await decide(runtime, uid, id as never);
      await runtime.ended(uid, 1);
      expect(ran.map(({ text }) => JSON.stringify({ text }))).toEqual([seen]);
    },
  );

  it('that throws denies the call, and the turn goes on', async () => {
    const { turn, events, ran } = await run(
      [{ calls: [{ name: 'look', arguments: { text: 'x' } }] }, { text: 'Done.' }],
      {},
      {
        toolHooks: toolHooks(() => {
          throw new Error('out of order');
        }),
      },
    );
    expect(turn.output).toBe('Done.');
    expect(dataOf(events, 'tool/result')[0]?.error?.code).toBe('DENIED');
    expect(ran).toEqual([]);
  });
});
