/**
 * Sends recorded replies from memory: `METHOD path` → body. A number received over IPC sets the
 * processor time of each later request in microseconds.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, file = ''] = process.argv.slice(2);
const recorded: Record<string, string> = JSON.parse(readFileSync(file, 'utf8'));
const replies = new Map(
  Object.entries(recorded).map(([request, body]) => [request, Buffer.from(body)]),
);

let microseconds = 0;
process.on('message', (message) => {
  microseconds = Number(message);
});

/** Parses and writes JSON, to use memory as a service does. */
function work(body: Buffer): void {
  const start = process.cpuUsage();
  const spent = () => {
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  while (spent() < microseconds) {
    JSON.stringify(JSON.parse(body.toString()));
  }
}

const server = createServer((request, response) => {
  const [path = ''] = (request.url ?? '').split('?', 1);
  const body = replies.get(`${request.method} ${path}`);
  const send = () => {
    if (body === undefined) {
      response.writeHead(404).end();
      return;
    }
    if (microseconds > 0) {
      work(body);
    }
    const length = String(body.length);
    response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', length]);
    response.end(body);
  };
  if (request.method === 'POST') {
    request.resume().once('end', send);
  } else {
    send();
  }
});
server.keepAliveTimeout = 75_000;
server.listen(Number(port), '127.0.0.1', () => process.send?.('ready'));
