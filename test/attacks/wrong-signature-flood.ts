/**
 * Sends wrong signatures from one address, at a steady rate: wrong-signature-flood.ts URL RATE
 * SECONDS
 */
import { Agent, request } from 'node:http';

const [url = '', rate = '', seconds = ''] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
const statuses: Record<number, number> = {};
const started = performance.now();
let sent = 0;

const timer = setInterval(() => {
  const elapsed = Math.min((performance.now() - started) / 1000, Number(seconds));
  if (elapsed >= Number(seconds)) {
    clearInterval(timer);
    process.stdout.write(`${JSON.stringify(statuses)}\n`, () => process.exit(0));
  }
  for (; sent < elapsed * Number(rate); sent += 1) {
    const headers = {
      'X-Forwarded-For': '192.0.2.1',
      'X-Client-Id': 'neighbor',
      'X-Timestamp': String(Date.now()),
      'X-Sign': String(sent).padStart(64, '0'),
    };
    const path = '/api/device?pageSize=1&where=name%20like%20a';
    request(new URL(path, url), { agent, headers }, (response) => {
      const status = response.statusCode ?? 0;
      statuses[status] = (statuses[status] ?? 0) + 1;
      response.resume();
    })
      .on('error', () => undefined)
      .end();
  }
}, 10);
