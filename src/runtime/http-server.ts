/** The HTTP server of this process: listening, and an end that leaves nobody waiting. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The address cannot be had; the message says why and what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly code = 'LISTEN_FAILED';
}

export interface HttpServer {
  /** Where this machine reaches it: an address that stands for all of them is none to connect to. */
  readonly url: string;
  /** Stops listening and closes every connection. */
  close(): Promise<void>;
}

/** @throws ListenError where the port is in use or the address cannot be bound. */
export async function listen(
  app: RequestListener,
  address: { readonly host: string; readonly port: number },
): Promise<HttpServer> {
  const server = createServer(app);
  // An upload or an import may take as long as its line needs; that it comes at all the headers' own timeout sees to.
  server.requestTimeout = 0;
  await bound(server, address);
  const { port } = server.address() as AddressInfo;
  const bare = reachable(address.host.replace(/^\[|\]$/g, ''));
  const host = bare.includes(':') ? `[${bare}]` : bare;
  return {
    url: `http://${host}:${String(port)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function bound(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? `The port ${String(port)} is in use. Stop what uses it, or choose another with --port, ` +
            'TURNKEEPER_PORT or server.port (0 takes any free one).'
          : `The server cannot listen on ${host}:${String(port)}: ${error.message}.`;
      reject(new ListenError(reason, { cause: error }));
    });
    server.listen(port, host.replace(/^\[|\]$/g, ''), () => {
      resolve();
    });
  });
}
