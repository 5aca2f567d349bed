/** Replies with a list of ten devices, and signs it if the request has a nonce. */
import { createHash, createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { replyLines } from '@gatehouse/request-signature/signing';

const secureKey = process.argv[2] ?? '';
const devices = Array.from({ length: 10 }, (_, index) => ({
  ...{ id: `device-${index}`, name: `Device ${index}`, productId: 'pump', productName: 'Pump' },
  state: { text: 'Online', value: 'online' },
}));
const envelope = { status: 200, code: 'success', message: 'success', result: devices };
const body = Buffer.from(JSON.stringify({ ...envelope, timestamp: Date.now() }));
const hash = createHash('sha256').update(body).digest('hex');

const server = createServer((request, response) => {
  response.setHeader('Content-Type', 'application/json');
  response.setHeader('Content-Length', body.length);
  const nonce = request.headers['x-nonce'];
  if (typeof nonce === 'string') {
    const timestamp = String(Date.now());
    const lines = replyLines({ status: 200, nonce, body, timestamp }, () => hash);
    response.setHeader('X-Timestamp', timestamp);
    response.setHeader('X-Sign-V2', createHmac('sha256', secureKey).update(lines).digest('hex'));
  }
  response.end(body);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
