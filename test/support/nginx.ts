/** A real nginx before a server, with nothing in its configuration but `proxy_pass`: all else is as it comes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { debianProgram, type RunnableProgram } from './debian-program.js';
import { freePort } from './serve-process.js';

const NGINX = { names: ['nginx'], package: 'nginx', file: 'usr/sbin/nginx' };

/** The nginx of the machine, or one that is fetched. */
export const findNginx = (): Promise<RunnableProgram> => debianProgram(NGINX);

export class Nginx {
  #child: ChildProcess | null = null;

  private constructor(
    private readonly program: RunnableProgram,
    private readonly folder: string,
    private readonly port: number,
  ) {}

  /** Starts one on a free port before the server at `target`. */
  static async start(program: RunnableProgram, target: string): Promise<Nginx> {
    const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-nginx-'));
    const port = await freePort();
    writeFileSync(join(folder, 'nginx.conf'), configuration(folder, port, target));
    const nginx = new Nginx(program, folder, port);
    await nginx.up();
    return nginx;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  /** Ends it with every connection. */
  async down(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }

  /** Starts it; resolves when it listens. */
  async up(): Promise<void> {
    const { path, env } = this.program;
    const args = ['-e', 'stderr', '-p', this.folder, '-c', join(this.folder, 'nginx.conf')];
    const child = spawn(path, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    let said = '';
    child.stderr.on('data', (part: Buffer) => (said += part.toString()));
    while (!(await listens(this.port))) {
      if (child.exitCode !== null) throw new Error(`nginx ended: ${said}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async stop(): Promise<void> {
    await this.down();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Beside the proxying itself only what lets it run from a folder of its own, by whoever runs the tests. */
function configuration(folder: string, port: number, target: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
${process.getuid?.() === 0 ? `user ${userInfo().username};` : ''}
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  server {
    listen 127.0.0.1:${String(port)};
    location / {
      proxy_pass ${target};
    }
  }
}
`;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    // Not yet.
    return false;
  } finally {
    socket.destroy();
  }
}
