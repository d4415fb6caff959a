/**
 * Chooses ports on the loopback address.
 */
import { createServer, type AddressInfo } from 'node:net';

/** Below the range from which systems take the ports of outgoing connections, so that a kept port stays free. */
const FIRST_PORT = 20_000;
const PORT_COUNT = 12_000;
const ATTEMPTS = 50;

export const LOOPBACK = '127.0.0.1';

/** Whether a server could listen on the port now; 0 gives true. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== undefined;
}

/** A port that is free now and likely to stay so while its program is down. */
export async function findFreePort(random: () => number = Math.random): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = FIRST_PORT + Math.floor(random() * PORT_COUNT);
    if (await isPortFree(port)) return port;
  }
  const port = await listenOnce(0);
  if (port === undefined) throw new Error('No port is free on the loopback address.');
  return port;
}

/** Listens for an instant; the port it got, or undefined where it could not. */
function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => {
      const got = (server.address() as AddressInfo).port;
      server.close(() => {
        resolve(got);
      });
    });
  });
}
