/** What nginx's auth_request asks: is this one of the tokens I know? The least that a verifier can do. */
import { createServer } from 'node:http';

const known = new Set(process.argv.slice(3));
const server = createServer((request, response) => {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
  response.writeHead(known.has(token) ? 204 : 401).end();
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.send?.('ready'));
