import { describe, expect, it } from 'vitest';
import { judgeClock } from '../../../../src/runtime/doctor/clock-check.js';
import { judgeRoom } from '../../../../src/runtime/doctor/disk-check.js';

const NOW = Date.parse('2026-01-01T00:00:00.000Z');

describe('the clock', () => {
  it('is well where nothing was written later, or so little later that it means nothing', () => {
    for (const at of [undefined, NOW - 1e9, NOW, NOW + 5000]) {
      expect(judgeClock([{ what: 'The log', at }], NOW).status).toBe('ok');
    }
  });

  it('is behind where something was written later', () => {
    const finding = judgeClock(
      [
        { what: 'The log', at: NOW + 3_600_000 },
        { what: 'The engine', at: NOW },
      ],
      NOW,
    );
    expect(finding.status).toBe('warning');
    expect(finding.message).toBe(
      "The log is 3600 s later than this machine's clock, which says 2026-01-01T00:00:00.000Z: set the clock, best by NTP.",
    );
  });
});

describe('the room on a disk', () => {
  it('is a problem under 100 MiB and a warning under 1 GiB', () => {
    const mebibytes = [99, 100, 1023, 1024].map((count) => judgeRoom('/home', count * 1024 ** 2).status);
    expect(mebibytes).toEqual(['problem', 'warning', 'warning', 'ok']);
  });
});
