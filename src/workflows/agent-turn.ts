/**
 * One turn: the durable loop of model calls and tool calls, from the prompt to `turn/end`.
 *
 * Owns the order of activities, and nothing else: every fact is in the session log, which the activities read and
 * write. Whatever the log already has an activity returns again, so this loop may be run twice over the same turn.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  continueAsNew,
  isCancellation,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import {
  ACTIVITY_FAILURE,
  getTurnStatusQuery,
  type AgentTurnInput,
  type StepRef,
  type TurnRef,
  type TurnStatus,
  type TurnStop,
} from '../contract/agent-turn.js';
import { createActivityProxies } from './activity-proxies.js';
import { listenForAnswers } from './persons-answers.js';
import { runToolCalls } from './tool-calls.js';
import { startWorkingTime } from './working-time.js';

/** The workflow of a turn: see `AGENT_TURN_WORKFLOW` and `turnWorkflowId` for how it is started. */
export async function agentTurn(input: AgentTurnInput): Promise<void> {
  const { policy } = input;
  const info = workflowInfo();
  const activities = createActivityProxies(policy);
  const turn: TurnRef = {
    uid: input.uid,
    turn: input.turn,
    run: { runId: info.firstExecutionRunId },
  };
  let status: TurnStatus = { step: input.completedStep ?? 0, phase: 'advancing' };
  const steps = new CancellationScope();
  const time = startWorkingTime({
    limitMs: policy.wallTimeMs,
    usedMs: input.usedMs ?? 0,
    leftMs: (limitMs) => activities.readTimeLeft({ ...turn, limitMs }),
    onOver: () => {
      steps.cancel();
    },
  });
  setHandler(getTurnStatusQuery, () => (time.isPaused ? { ...status, phase: 'waiting' } : status));
  const answers = listenForAnswers({
    onWaiting: () => {
      time.pause();
    },
    onAnswered: () => {
      time.resume();
    },
  });

  /** Goes from step to step until the turn has ended; a number is the last completed step of a history that is full. */
  const goOn = async (): Promise<'ended' | number> => {
    let completedStep = input.completedStep ?? 0;
    for (;;) {
      status = { step: completedStep, phase: 'advancing' };
      const next = await activities.advance({ ...turn, completedStep });
      if (next.kind !== 'step') return 'ended';
      if (workflowInfo().continueAsNewSuggested) return completedStep;
      await takeStep({ ...turn, step: next.step });
      completedStep = next.step;
    }
  };

  const takeStep = async (step: StepRef): Promise<void> => {
    status = { step: step.step, phase: 'model' };
    const model = await activities.callModel(step);
    if (model.kind === 'aborted' || model.calls.length === 0) return;
    status = { step: step.step, phase: 'tools' };
    const { calls, hostId } = model;
    await runToolCalls(
      activities,
      step,
      { calls, hostId, maxParallel: policy.maxParallelToolCalls },
      answers,
    );
  };

  let outcome: 'ended' | number = 'ended';
  try {
    outcome = await steps.run(goOn);
  } catch (error) {
    const stop = stopOf(error, time.isOver);
    // Also a turn that was cancelled is settled in the log: nothing that ends it may be cancelled itself.
    await CancellationScope.nonCancellable(() =>
      activities.advance({ ...turn, completedStep: status.step, stop }),
    );
  } finally {
    time.clear();
  }
  if (outcome !== 'ended')
    await continueAsNew<typeof agentTurn>({ ...input, completedStep: outcome, usedMs: time.usedMs() });
  status = { step: status.step, phase: 'ended' };
}

/** Why the steps did not come to an end of their own. */
function stopOf(error: unknown, timeIsUp: boolean): TurnStop {
  if (isCancellation(error)) return timeIsUp ? { kind: 'time' } : { kind: 'cancelled' };
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const code = cause instanceof ApplicationFailure && cause.type != null ? cause.type : 'WorkflowError';
  return code === ACTIVITY_FAILURE.attemptSuperseded ? { kind: 'superseded' } : { kind: 'failed', code };
}
