/** What an attempt at the model leaves in the log when it ends without its message. */
import type { AssistantBlock } from '../contract/content.js';
import { eventKeys } from '../contract/event-keys.js';
import type { EventData, NewEvent } from '../contract/events.js';
import type { CallId, IdSource, MessageId } from '../contract/ids.js';
import { ZERO_USAGE, type Usage } from '../contract/usage.js';
import { BlockAssembler } from '../model/block-assembler.js';
import type { AttemptRef, LogTransaction } from '../store/session-store.js';

/** An attempt's answer as far as it came. */
export interface PartialAnswer {
  readonly content: readonly AssistantBlock[];
  readonly shownCharacters: number;
  readonly usage: Usage | undefined;
}

/** `assistant/attempt` of an attempt whose shown text is withdrawn. */
export function withdrawnAttempt(
  { turn, step, attempt }: AttemptRef,
  data: Omit<EventData<'assistant/attempt'>, 'attempt'>,
): NewEvent {
  return {
    type: 'assistant/attempt',
    key: eventKeys.assistantAttempt(turn, step, attempt),
    turn,
    step,
    data: { attempt, ...data },
  };
}

/**
 * The event of a cancelled attempt: its visible text is kept as an interrupted message without calls; where nothing
 * was visible the attempt is withdrawn.
 */
export function interruptedAttempt(
  ref: AttemptRef,
  answer: PartialAnswer,
  rest: {
    readonly provider: string;
    readonly model: string;
    readonly timing: EventData<'assistant/message'>['timing'];
    readonly ids: IdSource;
  },
): NewEvent {
  const visible = answer.content.some((block) => block.type === 'text' && block.text !== '');
  if (!visible) {
    return withdrawnAttempt(ref, {
      outcome: 'aborted',
      shownCharacters: answer.shownCharacters,
      ...(answer.usage === undefined ? {} : { usage: answer.usage }),
    });
  }
  return {
    type: 'assistant/message',
    key: eventKeys.assistantMessage(ref.turn, ref.step),
    turn: ref.turn,
    step: ref.step,
    surface: 'append',
    data: {
      messageId: rest.ids.uuid() as MessageId,
      attempt: ref.attempt,
      content: [...answer.content],
      finish: 'aborted',
      usage: answer.usage ?? ZERO_USAGE,
      interrupted: true,
      provider: rest.provider,
      model: rest.model,
      timing: rest.timing,
    },
  };
}

/** The answer of an attempt whose worker is gone, put together from what it had shown. */
export async function answerFromFrames(transaction: LogTransaction, ref: AttemptRef): Promise<PartialAnswer> {
  const assembler = new BlockAssembler({ usedCallIds: () => false, makeCallId: () => 'call' as CallId });
  for (const frame of await transaction.frames(ref)) {
    for (const chunk of frame.chunks) {
      if (chunk.type.startsWith('tool-') && chunk.type !== 'tool-call-delta') continue;
      assembler.add(chunk as Parameters<BlockAssembler['add']>[0]);
    }
  }
  return {
    content: assembler.interruptedContent(),
    shownCharacters: assembler.visibleCharacters,
    usage: assembler.usage,
  };
}
