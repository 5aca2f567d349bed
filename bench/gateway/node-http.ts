/** The HTTP server of Node alone, which is the minimum for any gateway on Node. */
import { createServer } from 'node:http';

const body = Buffer.from(
  JSON.stringify({ status: 200, code: 'success', result: [], padding: 'x'.repeat(140) }),
);
const server = createServer((_request, response) => {
  response.writeHead(200, [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(body.length),
  ]);
  response.end(body);
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.send?.('ready'));
