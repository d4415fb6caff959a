/** How long a person's allow takes to become the command's start and the next request, in a session that asks. */
import type { ApprovalResource } from '../../src/contract/http-asks.js';
import { BASH_CALL, BenchSession } from '../installation/bench-session.js';
import type { Api } from '../installation/api.js';
import { timeFigure, type Bench, type Measurement } from '../measurement.js';
import { median, worst } from '../statistics.js';
import { until } from '../until.js';

const TIMES = 30;

export const approval: Measurement = {
  name: 'approval',
  title: 'From a decision on a call to what follows',
  run: async (bench) => {
    const { api } = await bench.shared();
    const times: { readonly answered: number; readonly next: number }[] = [];
    for (let time = 0; time < TIMES; time += 1) times.push(await once(bench, api));
    const answered = times.map((each) => each.answered);
    const next = times.map((each) => each.next);
    return [
      timeFigure(`allow sent to its answer, stored, n=${String(TIMES)}, median`, median(answered)),
      timeFigure('  worst', worst(answered)),
      timeFigure('allow sent, `bash` with `true` run, to the next model request, median', median(next)),
      timeFigure('  worst', worst(next)),
    ];
  },
};

async function once(bench: Bench, api: Api): Promise<{ readonly answered: number; readonly next: number }> {
  const session = await BenchSession.create(api, { permission: 'read-only' });
  await bench.model.play({ kind: 'turn', steps: 1, call: BASH_CALL });
  const { body } = await session.prompt();
  const asked = await until('the approval', async () => {
    const open = await api.call<{ items: ApprovalResource[] }>('GET', `/v1/sessions/${session.id}/approvals`);
    return open.body.items[0];
  });
  const decided = await api.call('POST', `/v1/approvals/${asked.approvalId}`, { outcome: 'allow' });
  const request = await bench.model.request(1);
  await session.completed(body.turn!);
  return { answered: decided.answeredAt - decided.sentAt, next: request.arrivedAt - decided.sentAt };
}
