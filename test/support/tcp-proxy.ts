/** A proxy that a test can make as bad as real ones are: it cuts, falls silent, drops or adds bytes. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** One connection through the proxy, as the side that answers sees it. */
export interface ProxiedConnection {
  /** From 0, in the order in which they were opened. */
  readonly number: number;
  /** Ends it towards both sides, after what was let through. */
  readonly cut: () => void;
  /** Sends bytes to the client that the server has not sent. */
  readonly inject: (bytes: string) => void;
}

/** What becomes of bytes on their way to the client; null lets nothing of them through. */
export type Passage = (bytes: Buffer, connection: ProxiedConnection) => Buffer | null;

export class TcpProxy {
  readonly #sockets = new Set<Socket>();
  #connections = 0;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  /** Listens on a free port for the server at `target`. */
  static async start(target: string, passage: Passage): Promise<TcpProxy> {
    const { hostname, port } = new URL(target);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new TcpProxy(server, `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
    server.on('connection', (client) => {
      proxy.#join(client, connect(Number(port), hostname), passage);
    });
    return proxy;
  }

  get connections(): number {
    return this.#connections;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #join(client: Socket, upstream: Socket, passage: Passage): void {
    const connection: ProxiedConnection = {
      number: this.#connections,
      cut: () =>
        setImmediate(() => {
          client.destroy();
          upstream.destroy();
        }),
      inject: (bytes) => client.write(bytes),
    };
    this.#connections += 1;
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(socket);
      // A proxy has nobody to tell of an error; the other side sees its connection end.
      socket.on('error', () => other.destroy());
      socket.once('close', () => {
        this.#sockets.delete(socket);
        other.end();
      });
    }
    client.pipe(upstream);
    upstream.on('data', (bytes: Buffer) => {
      const passed = passage(bytes, connection);
      if (passed !== null && !client.destroyed) client.write(passed);
    });
  }
}
