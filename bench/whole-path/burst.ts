import { connect } from 'node:net';

/**
 * Opens the given number of connections at once and sends one request on each.
 *
 * @returns the milliseconds from the start to the end of each reply
 */
export async function burst(url: string, requests: readonly string[]): Promise<number[]> {
  const { port } = new URL(url);
  return Promise.all(requests.map((request) => exchange(Number(port), request)));
}

function exchange(port: number, request: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let reply = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(request, 'latin1'));
    socket.setNoDelay(true);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`The reply is incomplete: ${reply}`)));
    socket.on('data', (data) => {
      reply += data.toString('latin1');
      if (isComplete(reply)) {
        resolve(performance.now() - startedAt);
        socket.destroy();
        if (!reply.startsWith('HTTP/1.1 2')) {
          reject(new Error(reply));
        }
      }
    });
  });
}

/** Every server of the benchmark announces the length of its replies. */
function isComplete(reply: string): boolean {
  const end = reply.indexOf('\r\n\r\n');
  const length = /\r\ncontent-length: (\d+)/i.exec(reply.slice(0, end === -1 ? 0 : end))?.[1];
  return length !== undefined && reply.length >= end + 4 + Number(length);
}
