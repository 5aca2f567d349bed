import { type IncomingHttpHeaders, request as sendRequest } from 'node:http';
import { connect } from 'node:net';
import { assertErrorFitsDocument } from './assert-error-fits-document.ts';

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: tests read replies of any shape
  readonly json: any;
}

export interface Sent {
  readonly method?: string;
  /** A flat list of names and values sends headers twice, as an object cannot. */
  readonly headers?: Record<string, string> | readonly string[];
  readonly body?: string | Buffer | readonly Buffer[];
  /** The local address of the connection. */
  readonly from?: string | undefined;
  /** A proxy writes errors itself, in another form than the gateway. */
  readonly isProxied?: boolean;
}

/** Sends one request on a separate connection, with exactly these headers. */
export function send(port: number, path: string, options: Sent = {}): Promise<Received> {
  const { method = 'GET', headers = {}, body, from, isProxied = false } = options;
  const at = { host: '127.0.0.1', port, path, localAddress: from };
  return new Promise((resolve, reject) => {
    const outgoing = sendRequest(
      { ...at, method, agent: false, headers: withHost(headers, port) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          const { statusCode: status = 0, headers: received } = response;
          const json = parse(bytes);
          try {
            if (!isProxied) {
              assertErrorFitsDocument({ method, target: path, status, body: json });
            }
            resolve({ status, headers: received, body: bytes, json });
          } catch (error) {
            reject(error);
          }
        });
      },
    );
    outgoing.on('error', reject);
    for (const chunk of body === undefined ? [] : Array.isArray(body) ? body : [body]) {
      outgoing.write(chunk);
    }
    outgoing.end();
  });
}

/** Writes bytes to a socket and reads until the server closes it or is silent for a while. */
export function sendRaw(port: number, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      for (const piece of pieces) {
        socket.write(piece);
      }
    });
    let received = '';
    // A busy machine can take longer for the first byte than for the others.
    socket.setTimeout(2500, () => socket.destroy());
    socket.on('data', (data) => {
      socket.setTimeout(700);
      received += data.toString('latin1');
    });
    socket.on('error', (error) => (received === '' ? reject(error) : undefined));
    socket.on('close', () => resolve(received));
  });
}

function withHost(headers: Record<string, string> | readonly string[], port: number) {
  const host = `127.0.0.1:${port}`;
  return Array.isArray(headers)
    ? ['Host', host, ...headers]
    : { Host: host, ...(headers as Record<string, string>) };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
