/**
 * Verifies tokens for nginx (auth_request) and for mod_auth_openidc, which introspects them (RFC
 * 7662) and requires TLS. It only compares the token with the known one, so it does the minimum
 * that a verifier can do.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

const [port, tlsPort, certificateFile = '', keyFile = '', token = ''] = process.argv.slice(2);
const known = new Set([token]);

const server = createServer((request, response) => {
  const given = request.headers.authorization?.slice('Bearer '.length) ?? '';
  response.writeHead(known.has(given) ? 204 : 401).end();
});

const tls = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
const introspection = createTlsServer(tls, (request, response) => {
  let form = '';
  request.setEncoding('utf8').on('data', (text: string) => {
    form += text;
  });
  request.on('end', () => {
    const active = known.has(new URLSearchParams(form).get('token') ?? '');
    const exp = Math.floor(Date.now() / 1000) + 7200;
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ active, exp, sub: 'bench', scope: 'device:read' }));
  });
});

introspection.listen(Number(tlsPort), '127.0.0.1', () =>
  server.listen(Number(port), '127.0.0.1', () => process.send?.('ready')),
);
