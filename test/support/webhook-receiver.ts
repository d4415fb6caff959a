/** A real receiver of webhooks: answers what its script says, and keeps what it was sent. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TurnResource } from '../../src/contract/http.js';

export interface Delivery {
  /** From 1. */
  readonly number: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body's text, byte for byte. */
  readonly raw: string;
  readonly body: { readonly type: string; readonly deliveryId: string; readonly turn: TurnResource };
}

/** How a delivery is answered; `silence`: not at all. */
export type ReceiverReply =
  { readonly status: number; readonly headers?: Readonly<Record<string, string>> } | 'silence';

export interface WebhookReceiver {
  readonly url: string;
  readonly deliveries: readonly Delivery[];
  /** Resolves with the delivery of this number. */
  delivery(number: number): Promise<Delivery>;
  close(): Promise<void>;
}

export async function startWebhookReceiver(
  reply: (delivery: Delivery) => ReceiverReply = () => ({ status: 204 }),
): Promise<WebhookReceiver> {
  const deliveries: Delivery[] = [];
  const waiting: (() => void)[] = [];
  const answer = (response: ServerResponse, given: ReceiverReply) => {
    if (given !== 'silence') response.writeHead(given.status, given.headers).end('thanks');
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const raw = Buffer.concat(parts).toString('utf8');
      const delivery: Delivery = {
        number: deliveries.length + 1,
        path: `${request.method ?? ''} ${request.url ?? ''}`,
        headers: request.headers,
        raw,
        body: JSON.parse(raw) as Delivery['body'],
      };
      deliveries.push(delivery);
      answer(response, reply(delivery));
      for (const wake of waiting.splice(0)) wake();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hook`,
    deliveries,
    delivery: async (number) => {
      for (;;) {
        const found = deliveries[number - 1];
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
