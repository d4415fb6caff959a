/** How long a prompt takes to be accepted, and then to become the request that the model gets. */
import type { Figure, Measurement } from '../measurement.js';
import { ms, timeFigure } from '../measurement.js';
import { BenchSession, READ_CALL } from '../installation/bench-session.js';
import { median, percentile } from '../statistics.js';

const IDLE_PROMPTS = 150;
const QUEUED_PROMPTS = 100;
const ACCEPTED_TARGET_MS = 10;
const REQUEST_TARGET_MS = 30;

export const promptAccepted: Measurement = {
  name: 'prompt',
  title: 'From the prompt to the model',
  run: async (bench) => {
    const { api } = await bench.shared();
    const idle = await BenchSession.create(api);
    await bench.model.play({ kind: 'turn', steps: 0, call: READ_CALL });
    const accepted: number[] = [];
    const toModel: number[] = [];
    const fromPrompt: number[] = [];
    for (let prompt = 0; prompt < IDLE_PROMPTS; prompt += 1) {
      const { sentAt, answeredAt } = await idle.run();
      const { arrivedAt } = await bench.model.request(prompt);
      accepted.push(answeredAt - sentAt);
      toModel.push(arrivedAt - answeredAt);
      fromPrompt.push(arrivedAt - sentAt);
    }

    const busy = await BenchSession.create(api);
    await bench.model.play({ kind: 'endless', intervalMs: 50 });
    await busy.prompt();
    await bench.model.request(0);
    const queued: number[] = [];
    for (let prompt = 0; prompt < QUEUED_PROMPTS; prompt += 1) {
      const { sentAt, answeredAt } = await busy.prompt();
      queued.push(answeredAt - sentAt);
    }
    await bench.model.play({ kind: 'turn', steps: 0, call: READ_CALL });
    await busy.cancel();
    await busy.idle();

    return [
      timeFigure(
        `prompt accepted (202) by an idle session, n=${String(IDLE_PROMPTS)}, median`,
        median(accepted),
        ACCEPTED_TARGET_MS,
      ),
      tail('p99', accepted),
      timeFigure(
        `prompt queued (202) by a busy session, n=${String(QUEUED_PROMPTS)}, median`,
        median(queued),
        ACCEPTED_TARGET_MS,
      ),
      tail('p99', queued),
      timeFigure('accepted to model request, median', median(toModel), REQUEST_TARGET_MS),
      tail('p99', toModel),
      { what: 'prompt sent to model request, median', value: ms(median(fromPrompt)) },
    ];
  },
};

function tail(what: string, values: readonly number[]): Figure {
  return { what: `  ${what}`, value: ms(percentile(values, 0.99)) };
}
