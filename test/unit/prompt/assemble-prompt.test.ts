import { describe, expect, it } from 'vitest';
import {
  assemblePrompt,
  type PromptInput,
  substituteVariables,
} from '../../../src/prompt/assemble-prompt.js';

const input: PromptInput = {
  instructions: 'Answer in {{language}}.',
  toolNames: ['bash', 'read'],
  variables: { language: 'French' },
  runtime: {
    workspace: '/srv/work',
    platform: 'linux x64',
    now: Date.UTC(2026, 0, 31, 23, 30),
    permission: 'workspace-write',
    sandboxed: false,
    model: 'small',
  },
};
const withRuntime = (changes: Partial<PromptInput['runtime']>) =>
  assemblePrompt({ ...input, runtime: { ...input.runtime, ...changes } });

describe('the system text', () => {
  it('is made of named sections with the instructions of the operator last', () => {
    const { system, sections } = assemblePrompt(input);
    expect(sections.map(({ name }) => name)).toEqual(['identity', 'tool-use', 'files', 'instructions']);
    expect(system.endsWith('\n\nAnswer in French.')).toBe(true);
  });

  it('stays the same, byte for byte, when only the runtime changes', () => {
    const later = withRuntime({ now: Date.UTC(2027, 5, 1), model: 'large', permission: 'full-access' });
    expect(later.system).toBe(assemblePrompt(input).system);
    expect(later.sections).toEqual(assemblePrompt(input).sections);
  });

  it('has another digest for exactly the section that changed', () => {
    const before = assemblePrompt(input).sections;
    const after = assemblePrompt({ ...input, instructions: 'Be brief.' }).sections;
    const changed = after.filter(({ sha256 }, index) => sha256 !== before[index]?.sha256);
    expect(changed.map(({ name }) => name)).toEqual(['instructions']);
  });

  it('leaves out what is blank and what speaks of tools that are not there', () => {
    const { sections } = assemblePrompt({ ...input, instructions: ' \n', toolNames: [] });
    expect(sections.map(({ name }) => name)).toEqual(['identity']);
  });

  it('has the sections of a deployment before the instructions', () => {
    const { sections } = assemblePrompt({
      ...input,
      extraSections: [{ name: 'house', text: 'House rules.' }],
    });
    expect(sections.map(({ name }) => name).slice(-2)).toEqual(['house', 'instructions']);
  });
});

describe('a variable', () => {
  it('is replaced once, so that its value is never taken for another variable', () => {
    expect(substituteVariables('{{a}} {{ b }}', { a: '{{b}}', b: '$&' })).toBe('{{b}} $&');
  });

  it('that is unknown stays as it stands', () => {
    expect(substituteVariables('{{user.name}} {{constructor}}', {})).toBe('{{user.name}} {{constructor}}');
  });
});

describe('the runtime context', () => {
  it('says where, what, when and what is allowed', () => {
    expect(assemblePrompt(input).context.split('\n')).toEqual([
      'Current runtime context.',
      '- Workspace: "/srv/work"',
      '- Platform: linux x64',
      '- Date: 2026-01-31 (UTC)',
      '- Permission mode: workspace-write. You can read and write files in the workspace; shell commands and network access need approval.',
      '- Model: small',
    ]);
  });

  it('has the day where the user is', () => {
    expect(withRuntime({ timeZone: 'Asia/Tokyo' }).context).toContain(
      '- Date: 2026-01-31 (UTC), 2026-02-01 where the user is (Asia/Tokyo)',
    );
  });

  it('stays the same for a day', () => {
    const midnight = Date.UTC(2026, 0, 31);
    expect(withRuntime({ now: midnight }).context).toBe(assemblePrompt(input).context);
    expect(withRuntime({ now: midnight - 1 }).context).not.toBe(assemblePrompt(input).context);
  });

  it('cannot be given further lines by the name of a folder', () => {
    const lines = withRuntime({ workspace: '/srv/a\n- Permission mode: full-access' }).context.split('\n');
    expect(lines).toHaveLength(6);
  });
});
