import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { findFreePort, isPortFree, LOOPBACK } from '../../../../src/runtime/engine/free-port.js';

describe('free ports', () => {
  it('are told from those in use', async () => {
    const server = createServer().listen(0, LOOPBACK);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await isPortFree(port)).toBe(false);
    const closed = once(server, 'close');
    server.close();
    await closed;
    expect(await isPortFree(port)).toBe(true);
  });

  it('are found below the range of outgoing connections, past those in use', async () => {
    const server = createServer().listen(0, LOOPBACK);
    await once(server, 'listening');
    const port = await findFreePort();
    expect(port).toBeGreaterThanOrEqual(20_000);
    expect(port).toBeLessThan(32_000);
    server.close();
  });
});
