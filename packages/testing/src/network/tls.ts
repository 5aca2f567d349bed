import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';

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

/**
 * Creates a `fetch` that resolves every name to this machine, trusts one certificate, and does not
 * follow redirects.
 *
 * @param from source address in 127.0.0.0/8
 */
export function createLocalTlsFetch(authority: string, from = '127.0.0.1'): typeof fetch {
  return async (target, init) => {
    const asked = new Request(target, init);
    const { host, hostname, port, pathname, search } = new URL(asked.url);
    const body = Buffer.from(await asked.arrayBuffer());
    const length = body.length > 0 ? { 'content-length': String(body.length) } : {};
    const outgoing = request({
      ...{ host: '127.0.0.1', port, path: pathname + search, method: asked.method },
      ...{ localAddress: from, agent: false, servername: hostname, ca: authority },
      headers: { host, ...Object.fromEntries(asked.headers), ...length },
    }).end(body);
    const [reply] = (await once(outgoing, 'response')) as [IncomingMessage];
    const { statusCode: status = 0, rawHeaders } = reply;
    const headers = new Headers();
    for (let index = 0; index < rawHeaders.length; index += 2) {
      headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
    }
    const hasNoBody = [204, 205, 304].includes(status);
    const stream = hasNoBody ? null : (Readable.toWeb(reply) as ReadableStream<Uint8Array>);
    return new Response(stream, { status, headers });
  };
}
