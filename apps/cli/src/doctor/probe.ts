import { type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { TLSSocket } from 'node:tls';

/** A reply as a client receives it, without following redirects. */
export interface ProbeReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** Epoch milliseconds in the middle of the exchange. */
  readonly at: number;
  /** When the certificate of the server expires, in epoch milliseconds. */
  readonly certificateExpiresAt: number | undefined;
}

const TIMEOUT_MILLISECONDS = 5000;
const MAXIMUM_CHARACTERS = 65_536;

/** @throws the error of the connection */
export function probe(url: string, headers: Readonly<Record<string, string>> = {}) {
  const send = url.startsWith('https:') ? requestHttps : requestHttp;
  const startedAt = Date.now();
  const options: RequestOptions = {
    agent: false,
    headers: { 'User-Agent': 'gatehouse-doctor', ...headers },
    signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
  };
  return new Promise<ProbeReply>((resolve, reject) => {
    const sent = send(url, options, (reply) => {
      const at = (startedAt + Date.now()) / 2;
      const expiry = (reply.socket as Partial<TLSSocket>).getPeerCertificate?.().valid_to;
      let text = '';
      reply.setEncoding('utf8');
      reply.on('data', (part: string) => {
        text = (text + part).slice(0, MAXIMUM_CHARACTERS);
      });
      reply.on('error', reject);
      reply.on('end', () =>
        resolve({
          status: reply.statusCode ?? 0,
          headers: reply.headers,
          text,
          at,
          certificateExpiresAt: expiry === undefined ? undefined : Date.parse(expiry),
        }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Whether something listens, but does not answer. */
export function isProbeTimeout(error: unknown): boolean {
  const { name } = error as Partial<Error>;
  return name === 'TimeoutError' || name === 'AbortError';
}

/** A short description of a failed connection, without the URL. */
export function describeProbeFailure(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (isProbeTimeout(error)) {
    return `no reply within ${TIMEOUT_MILLISECONDS / 1000} s`;
  }
  return code === undefined ? message : `${message || 'the connection failed'} (${code})`;
}
