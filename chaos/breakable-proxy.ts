/** A TCP proxy whose connections can all be cut at once, and which then takes none for a while. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export class BreakableProxy {
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(
    private readonly server: Server,
    private readonly port: number,
  ) {
    server.on('connection', (client) => {
      this.#join(client);
    });
  }

  /** Listens on a free port, for a server on a port of this machine that need not be there yet. */
  static async start(port: number): Promise<BreakableProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new BreakableProxy(server, port);
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  async cut(ms: number): Promise<void> {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
    await new Promise((resolve) => setTimeout(resolve, ms));
    this.#isCut = false;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #join(client: Socket): void {
    if (this.#isCut) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(this.port, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(socket);
      // A proxy has nobody to tell of an error; the other side sees its connection end.
      socket.on('error', () => other.destroy());
      socket.once('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  }
}
