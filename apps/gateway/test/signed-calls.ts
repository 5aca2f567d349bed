import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { type Received, type Sent, send } from './http-client.ts';
import type { Signing } from './test-credentials.ts';

export interface SignedCalls {
  readonly booted: BootedGateway;
  /** The clock of the gateway. It advances by a second per test, so that every signature is new. */
  now: number;
  get(query: string, change?: Signing, headers?: Record<string, string>): Promise<Received>;
  /** Signs `body` and sends it, or `sent` instead. */
  post(body: string | Buffer, sent?: Sent['body']): Promise<Received>;
  expectRefused(reply: Received, status: number, code: string): void;
}

/** Starts a gateway for the calling suite and sends signed requests to it. */
export function useSignedCalls(): SignedCalls {
  let gateway: BootedGateway | undefined;
  const calls: SignedCalls = {
    get booted() {
      if (gateway === undefined) {
        throw new Error('The gateway is booted before the first test.');
      }
      return gateway;
    },
    now: Date.now(),
    get: (query, change = {}, headers = {}) =>
      send(calls.booted.port, query === '' ? '/api/device' : `/api/device?${query}`, {
        headers: { ...calls.booted.signed({ query, ...change }), ...headers },
      }),
    post: (body, sent = body) =>
      send(calls.booted.port, '/device-instance', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...calls.booted.signed({ body }) },
        body: sent,
      }),
    expectRefused(reply, status, code) {
      expect([reply.status, reply.json.code]).toEqual([status, code]);
      expect(reply.headers['x-sign']).toBeUndefined();
      expect(calls.booted.upstream.requests).toEqual([]);
    },
  };
  beforeAll(async () => {
    gateway = await bootGateway({ now: () => calls.now });
  });
  afterAll(() => closeUnharmed(calls.booted));
  beforeEach(() => {
    calls.now += 1000;
    calls.booted.upstream.requests.length = 0;
  });
  return calls;
}
