import { basic, signatureHeaders } from '@gatehouse/testing';
import { person, type Tier } from './tier.ts';

/** Longer than every guaranteed time. A slower request counts as a request without a reply. */
const PATIENCE_MILLISECONDS = 10_000;

export interface Reply {
  /** 0 if there was no reply. */
  readonly status: number;
  readonly body: string;
  readonly hasRetryAfter: boolean;
  readonly sentAt: number;
  readonly milliseconds: number;
}

export const isSuccess = ({ status }: Reply) => status >= 200 && status < 300;

let addresses = 0;

/**
 * Sends each request from a different address group, so that rate limits do not affect these tests.
 */
export async function send(url: string, init: RequestInit = {}): Promise<Reply> {
  addresses = (addresses + 1) % 60_000;
  const address = `10.${addresses % 250}.${Math.floor(addresses / 250)}.1`;
  const sentAt = performance.now();
  try {
    const reply = await fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(PATIENCE_MILLISECONDS),
      ...init,
      headers: { 'X-Forwarded-For': address, ...Object.fromEntries(new Headers(init.headers)) },
    });
    const body = await reply.text();
    const milliseconds = performance.now() - sentAt;
    const hasRetryAfter = reply.headers.has('retry-after');
    return { status: reply.status, body, hasRetryAfter, sentAt, milliseconds };
  } catch (error) {
    const milliseconds = performance.now() - sentAt;
    return { status: 0, body: String(error), hasRetryAfter: false, sentAt, milliseconds };
  }
}

/** The requests of a client with credentials. */
export function createRequests({ authorizationServerUrl, gatewayUrl }: Tier) {
  const asClient = (path: string, index: number, parameters: Record<string, string>) => {
    const { clientId, secureKey } = person(index).client;
    return send(authorizationServerUrl + path, {
      method: 'POST',
      headers: { authorization: basic(clientId, secureKey) },
      body: new URLSearchParams(parameters),
    });
  };
  let sequence = 0;
  return {
    token: (index: number, parameters: Record<string, string>) =>
      asClient('/token', index, parameters),
    machineToken: (index: number) =>
      asClient('/token', index, { grant_type: 'client_credentials' }),
    revoke: (index: number, token: string) => asClient('/revoke', index, { token }),
    call: (token: string) =>
      send(`${gatewayUrl}/api/device`, { headers: { authorization: `Bearer ${token}` } }),
    signedCall(index: number) {
      sequence += 1;
      const query = `pageIndex=${sequence}`;
      const headers = signatureHeaders(person(index).client, query);
      return send(`${gatewayUrl}/api/device?${query}`, { headers });
    },
  };
}

export type Requests = ReturnType<typeof createRequests>;

export function memberOf(reply: Reply, name: string): string {
  const value = (JSON.parse(reply.body) as Record<string, unknown>)[name];
  if (typeof value !== 'string') {
    throw new Error(`A reply without ${name}: ${reply.status}`);
  }
  return value;
}
