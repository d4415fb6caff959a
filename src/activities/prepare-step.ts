/** What the next request says beside the conversation: system text, runtime context, header and tools. */
import type { EventData } from '../contract/events.js';
import type { OfferedTool } from '../contract/messages.js';
import type { SessionState } from '../core/session-state.js';
import type { StepRequest } from '../core/turn-progress.js';
import type { ActivityDeps } from './activity-deps.js';
import type { RequestChoice } from './turn-hooks.js';
import { settingsInForce, type TurnSettings } from './turn-settings.js';

export interface PreparedStep {
  readonly request: StepRequest;
  /** The offered tools, whose definitions are kept as blobs by the digests in the header. */
  readonly tools: readonly OfferedTool[];
  readonly settings: TurnSettings;
}

/** Why no request can be made: the configuration has changed under the session. */
export interface StepRefusal {
  readonly refusal: { readonly code: 'UNKNOWN_MODEL' | 'UNPRICED_MODEL'; readonly message: string };
}

export interface StepWishes {
  readonly timeZone: string | undefined;
  /** What hooks made of the request; absent before they were asked. */
  readonly choice?: RequestChoice;
}

/** Prepares the step, or says why it cannot be taken. Pure given the state and the clock. */
export function prepareStep(
  deps: Pick<
    ActivityDeps,
    'profiles' | 'execution' | 'models' | 'registry' | 'assemblePrompt' | 'platform' | 'clock'
  >,
  state: SessionState,
  { timeZone, choice }: StepWishes,
): PreparedStep | StepRefusal {
  const standing = settingsInForce(state, deps);
  const settings =
    choice === undefined ? standing : { ...standing, provider: choice.provider, model: choice.model };
  const model = deps.models.resolve(settings.provider, settings.model);
  const name = `${settings.provider}/${settings.model}`;
  if (model === undefined) {
    return refusal(
      'UNKNOWN_MODEL',
      `The configuration has no model ${name} any more. Choose another for the session.`,
    );
  }
  const limitsCost = settings.limits.costUsd !== null || settings.sessionLimits.costUsd !== null;
  if (limitsCost && model.model.price === undefined) {
    return refusal(
      'UNPRICED_MODEL',
      `A limit on cost is set, and the configuration has no price for the model ${name}. Give it one, or lift the limit.`,
    );
  }
  const tools = model.model.abilities.tools
    ? deps.registry.offered(choice?.tools ?? settings.profile.tools)
    : [];
  const prompt = deps.assemblePrompt({
    instructions: settings.profile.instructions,
    toolNames: tools.map(({ name }) => name),
    runtime: {
      workspace: settings.workspace,
      platform: deps.platform,
      now: deps.clock(),
      ...(timeZone === undefined ? {} : { timeZone }),
      permission: settings.permission,
      sandboxed: settings.policy.sandboxed,
      model: name,
    },
  });
  const header: Omit<EventData<'request/header'>, 'reason'> = {
    provider: settings.provider,
    model: settings.model,
    wire: model.adapter.wire,
    parameters: choice?.parameters ?? settings.profile.parameters,
    adapterDefaults: model.adapter.adapterDefaults,
    tools: tools.map(({ name, sha256 }) => ({ name, sha256 })),
  };
  return {
    settings,
    tools,
    request: {
      system: prompt.system,
      sections: [...prompt.sections],
      context: prompt.context,
      header,
      contextWindow: model.model.contextWindow,
    },
  };
}

function refusal(code: StepRefusal['refusal']['code'], message: string): StepRefusal {
  return { refusal: { code, message } };
}
