/**
 * Replies with a list of ten devices. Signs the reply to a request that has a signature, without
 * verifying the request.
 */
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { replyLines } from '@gatehouse/signing/core';

const [port, secureKey = ''] = process.argv.slice(2);
const devices = Array.from({ length: 10 }, (_, index) => ({
  id: `device-${index}`,
  name: `Device ${index}`,
  productId: 'pump',
  productName: 'Pump',
  state: { text: 'Online', value: 'online' },
}));
const envelope = { status: 200, code: 'success', message: 'success', result: devices };
const body = Buffer.from(JSON.stringify({ ...envelope, timestamp: Date.now() }));
const hash = createHash('sha256').update(body).digest('hex');

function signatureHeaders(request: IncomingHttpHeaders): Record<string, string> {
  const { 'x-nonce': nonce, 'x-sign': version1 } = request;
  const timestamp = String(Date.now());
  if (typeof nonce === 'string') {
    const lines = replyLines({ status: 200, nonce, body, timestamp }, () => hash);
    const signature = createHmac('sha256', secureKey).update(lines).digest('hex');
    return { 'X-Timestamp': timestamp, 'X-Sign-V2': signature };
  }
  if (version1 !== undefined) {
    const digest = createHash('sha256').update(body).update(timestamp).update(secureKey);
    return { 'X-Timestamp': timestamp, 'X-Sign': digest.digest('hex') };
  }
  return {};
}

const server = createServer(({ headers }, response) => {
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    ...signatureHeaders(headers),
  });
  response.end(body);
});
server.listen(Number(port), '127.0.0.1', () => process.send?.('listening'));
