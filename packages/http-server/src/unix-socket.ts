import { lstat, unlink } from 'node:fs/promises';
import { connect, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** As many may wait to be accepted: nginx refuses what finds no room here, where a TCP connection would wait. */
const BACKLOG = 4096;
/** For whoever had found the name before it was taken away. */
const LATECOMERS_MILLISECONDS = 50;

/**
 * Listens on a Unix socket, for a proxy on the same machine. Whoever may enter its folder may connect, and counts as
 * coming from 127.0.0.1: believed in what it says of others' addresses only where the operator names that as a proxy.
 *
 * @throws Error with code EADDRINUSE when another process serves there; what a dead one left behind is replaced
 */
export async function listenOnUnixSocket(server: Server, path: string): Promise<void> {
  // Before any other listener asks: a Unix socket has no address of its peer.
  server.prependListener('connection', (socket: Socket) => {
    Object.defineProperty(socket, 'remoteAddress', { value: '127.0.0.1' });
  });
  try {
    await listen(server, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || !(await isLeftBehind(path))) {
      throw error;
    }
    await unlink(path);
    await listen(server, path);
  }
}

/**
 * Takes the name away, and with it the way to connect, while the socket still accepts: no connection is ever in
 * between, as at the end of a TCP listener.
 */
export async function withdrawUnixSocket(path: string): Promise<void> {
  // Where that fails the socket is closed all the same, as a TCP listener is.
  await unlink(path).catch(() => undefined);
  await sleep(LATECOMERS_MILLISECONDS);
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path, backlog: BACKLOG, readableAll: true, writableAll: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** A socket that nobody answers to. Anything else is not ours to remove. */
async function isLeftBehind(path: string): Promise<boolean> {
  if (!(await lstat(path)).isSocket()) {
    return false;
  }
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.on('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}
