/** Ends a run with one plain line that any tool can read: `N passed, N failed`, and what was skipped where anything was. */
import type { Reporter, TestModule } from 'vitest/node';

export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state] += 1;
      // A file that could not be loaded has no tests to fail.
      if (module.state() === 'failed' && module.errors().length > 0) count.failed += 1;
    }
    const skipped = count.skipped + count.pending;
    const line = `${String(count.passed)} passed, ${String(count.failed)} failed${skipped === 0 ? '' : `, ${String(skipped)} skipped`}`;
    // Behind the summary of the other reporters.
    process.once('exit', () => {
      process.stdout.write(`${line}\n`);
    });
  }
}
