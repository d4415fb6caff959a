/** A web server on loopback that counts and watches its connections, and a certificate for https. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export async function startLocalWebServer(handler: http.RequestListener, certificate?: Certificate) {
  const requests: http.IncomingMessage[] = [];
  const open = new Set<Socket>();
  let connections = 0;
  const listener: http.RequestListener = (request, response) => {
    requests.push(request);
    response.on('error', ignoreClosed);
    handler(request, response);
  };
  const server =
    certificate === undefined
      ? http.createServer(listener)
      : https.createServer({ ...certificate }, listener);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', ignoreClosed);
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const scheme = certificate === undefined ? 'http' : 'https';
  return {
    port,
    requests,
    url: (path = '/', host = '127.0.0.1') => `${scheme}://${host}:${String(port)}${path}`,
    connections: () => connections,
    openConnections: () => open.size,
    close: () => {
      server.closeAllConnections();
      return new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}

export type LocalWebServer = Awaited<ReturnType<typeof startLocalWebServer>>;

/** A certificate that vouches for itself, for one name. */
export function selfSignedCertificate(name: string): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-certificate-'));
  try {
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const command =
      `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=${name} ` +
      `-addext subjectAltName=DNS:${name} -keyout ${keyFile} -out ${certFile}`;
    execFileSync('openssl', command.split(' '), { stdio: 'pipe' });
    return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The client closes connections in the middle of answers; that is what the tests are about. */
function ignoreClosed(): void {
  return undefined;
}
