// Serves the files of the application with a Content-Security-Policy.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const {
  AUTHORIZATION_SERVER_URL = 'http://localhost:9000',
  GATEWAY_URL = 'http://localhost:8844',
  CLIENT_ID = 'single-page-application',
  PORT = '3001',
} = process.env;

const settings = {
  authorizationServer: AUTHORIZATION_SERVER_URL,
  gateway: GATEWAY_URL,
  clientId: CLIENT_ID,
};
const publicFolder = join(import.meta.dirname, 'public');
const libraryFolder = dirname(createRequire(import.meta.url).resolve('oidc-client-ts'));
const page = ['text/html', readFileSync(join(publicFolder, 'index.html'))];
const files = new Map([
  ['/', page],
  ['/callback', page],
  ['/application.js', script(join(publicFolder, 'application.js'))],
  ['/oidc-client-ts.min.js', script(join(libraryFolder, '../browser/oidc-client-ts.min.js'))],
  ['/settings.json', ['application/json', JSON.stringify(settings)]],
]);

function script(path) {
  return ['text/javascript', readFileSync(path)];
}

// The browser runs only the scripts of this server, which send requests to these two servers only.
const policy =
  "default-src 'none'; script-src 'self'; base-uri 'none'; frame-ancestors 'none'; " +
  `connect-src 'self' ${AUTHORIZATION_SERVER_URL} ${GATEWAY_URL}`;

createServer(({ url }, response) => {
  const [type, content] = files.get(url.split('?', 1)[0]) ?? [];
  response.writeHead(content === undefined ? 404 : 200, {
    'Content-Type': type ?? 'text/plain',
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
  });
  response.end(content);
}).listen(Number(PORT), 'localhost', () => console.log(`Open http://localhost:${PORT}`));
