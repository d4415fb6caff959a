import { createServer, type AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { makeHome } from '../support/home-folder.js';
import { runCli, startServe } from '../support/serve-process.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function home(configuration?: Record<string, unknown>) {
  const folder = makeHome('http://127.0.0.1:9', configuration);
  ends.push(() => {
    folder.remove();
  });
  return folder;
}

describe('serve refuses to start', () => {
  it('a second time on the same home, and says which process has it', async () => {
    const { home: folder } = home();
    const first = await startServe({ home: folder });
    ends.push(() => first.end('SIGTERM'));
    const second = await runCli(['serve', '--home', folder, '--port', '0']);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(String(first.pid));
    expect(second.stderr).toContain(first.url);
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
  });

  it('on a port that is in use, and leaves nothing running', async () => {
    const { home: folder } = home();
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    ends.push(() => new Promise((resolve) => blocker.close(resolve)));
    const { port } = blocker.address() as AddressInfo;
    const refused = await runCli(['serve', '--home', folder, '--port', String(port)]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`port ${String(port)} is in use`);
    const free = await startServe({ home: folder });
    expect(await free.end('SIGTERM')).toBe(0);
  });

  it('without a Temporal binary, and says which ways were tried', async () => {
    const { home: folder } = home();
    const refused = await runCli(['serve', '--home', folder, '--port', '0'], {
      env: { TURNKEEPER_TEMPORAL_CLI: '/nowhere/temporal' },
    });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('/nowhere/temporal');
    expect(refused.stderr).toContain('TEMPORAL_ADDRESS');
  });

  it('with an unknown key in the configuration, and names the nearest one', async () => {
    const { home: folder } = home({ servr: { port: 1 } });
    const refused = await runCli(['serve', '--home', folder, '--port', '0']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('servr');
    expect(refused.stderr).toContain('server');
  });
});

describe('run without a server', () => {
  it('starts its own, prints the answer alone on standard output, and ends with 0', async () => {
    const folder = home({ providers: {}, profiles: { default: { permission: 'full-access' } } });
    writeFileSync(join(folder.workspace, 'README.md'), '# A\nB\n');
    const ran = await runCli(['run', '-', '--home', folder.home, '--cwd', folder.workspace], {
      input: 'list files, then read README.md, then run wc -l README.md',
    });
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain('2 README.md');
    expect(ran.stderr).toBe('');
  });

  it('ends with 5 where a call needs an approval that nobody can give', async () => {
    const folder = home({ providers: {}, profiles: {} });
    const ran = await runCli(['run', 'run ls', '--home', folder.home, '--cwd', folder.workspace]);
    expect(ran.code).toBe(5);
  });

  it('ends with 1 where the provider has no key, which it names', async () => {
    const folder = home({
      providers: {},
      profiles: { default: { provider: 'deepseek', model: 'deepseek-v4-flash' } },
    });
    const ran = await runCli(['run', 'hello', '--home', folder.home, '--cwd', folder.workspace]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain('DEEPSEEK_API_KEY');
  });
});
