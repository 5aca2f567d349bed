import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { isIP } from 'node:net';
import { join } from 'node:path';

export interface Certificate {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Certificate that clients must trust. */
  readonly authority: string;
}

/** Creates a self-signed certificate for names or addresses. Requires `openssl`. */
export function makeCertificate(directory: string, names: readonly string[]): Certificate {
  const certificateFile = join(directory, 'certificate.pem');
  const keyFile = join(directory, 'certificate.key');
  const subjects = names.map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`).join(',');
  const key = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2'.split(' ');
  const named = ['-subj', '/CN=gatehouse test', '-addext', `subjectAltName=${subjects}`];
  const files = ['-keyout', keyFile, '-out', certificateFile];
  execFileSync('openssl', [...key, ...named, ...files], { stdio: 'ignore' });
  return { certificateFile, keyFile, authority: readFileSync(certificateFile, 'utf8') };
}

/** An HTTPS client that resolves every name to this machine and trusts one certificate. */
export interface LocalTlsOptions {
  readonly authority: string;
  /** Source address in 127.0.0.0/8. */
  readonly from?: string;
}

/** Like `request` of node:https, for replies that stay open. */
export function openLocalTls(
  url: string,
  headers: Readonly<Record<string, string>>,
  { authority, from = '127.0.0.1' }: LocalTlsOptions,
  body?: { readonly method: string; readonly bytes: Buffer },
): Promise<IncomingMessage> {
  const { hostname, port, pathname, search, host } = new URL(url);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path: pathname + search,
        localAddress: from,
        agent: false,
        method: body?.method ?? 'GET',
        servername: hostname,
        ca: authority,
        headers: { host, ...headers },
      },
      resolve,
    );
    outgoing.on('error', reject);
    outgoing.end(body?.bytes);
  });
}

/** The same as `fetch`, without following redirects. */
export function createLocalTlsFetch(options: LocalTlsOptions): typeof fetch {
  return async (target, init) => {
    const asked = new Request(target, init);
    const bytes = Buffer.from(await asked.arrayBuffer());
    const sent = {
      ...Object.fromEntries(asked.headers),
      ...(bytes.length > 0 && { 'content-length': String(bytes.length) }),
    };
    const reply = await openLocalTls(asked.url, sent, options, { method: asked.method, bytes });
    const headers = new Headers();
    for (let index = 0; index < reply.rawHeaders.length; index += 2) {
      headers.append(reply.rawHeaders[index] ?? '', reply.rawHeaders[index + 1] ?? '');
    }
    const chunks: Buffer[] = [];
    for await (const chunk of reply) {
      chunks.push(chunk as Buffer);
    }
    const status = reply.statusCode ?? 0;
    const hasNoBody = [204, 205, 304].includes(status);
    return new Response(hasNoBody ? null : Buffer.concat(chunks), { status, headers });
  };
}
