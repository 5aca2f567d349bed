import { randomBytes } from 'node:crypto';
import { access, constants, link, lstat, unlink } from 'node:fs/promises';
import { connect, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** As many may wait to be accepted: nginx refuses what finds no room here, where a TCP connection would wait. */
const BACKLOG = 4096;
/** For whoever had found the name before it was taken away. */
const LATECOMERS_MILLISECONDS = 50;

/**
 * Listens on a Unix socket, for a proxy on the same machine. Whoever may enter its folder may connect, and counts as
 * coming from 127.0.0.1: believed in what it says of others' addresses only where the operator names that as a proxy.
 *
 * @returns takes the name away, and with it the way to connect, while the socket still accepts: no connection is ever
 *   in between, as at the end of a TCP listener
 * @throws Error with code EADDRINUSE when another process serves there; what a dead one left behind is replaced
 */
export async function listenOnUnixSocket(
  server: Server,
  path: string,
): Promise<() => Promise<void>> {
  // Before any other listener asks: a Unix socket has no address of its peer.
  server.prependListener('connection', (socket: Socket) => {
    Object.defineProperty(socket, 'remoteAddress', { value: '127.0.0.1' });
  });
  // Node says EACCES also of a folder that is missing.
  await access(dirname(path), constants.W_OK);
  // Closing removes the name that was listened on, whosever it is by then: so that is a name nobody else takes.
  const ownName = `${path}.${randomBytes(4).toString('hex')}`;
  await listen(server, ownName);
  try {
    await takeName(ownName, path);
  } catch (error) {
    server.close();
    throw error;
  }
  const { ino } = await lstat(ownName);
  await unlink(ownName);
  return () => withdraw(path, ino);
}

async function withdraw(path: string, ino: number): Promise<void> {
  try {
    // Somebody removed it, and another process serves there now: that name is not ours.
    if ((await lstat(path)).ino === ino) {
      await unlink(path);
    }
  } catch {
    // The socket is closed all the same, as a TCP listener is.
  }
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

async function takeName(ownName: string, path: string): Promise<void> {
  try {
    await link(ownName, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw error;
    }
    await assertLeftBehind(path);
    await unlink(path);
    await link(ownName, path);
  }
}

/** A socket that nobody answers to. Anything else is not ours to remove. */
async function assertLeftBehind(path: string): Promise<void> {
  if (!(await lstat(path)).isSocket()) {
    throw inUse(path, 'is there and is no socket');
  }
  const socket = connect({ path });
  const code = await new Promise((resolve) => {
    socket.on('connect', () => resolve(undefined));
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  socket.destroy();
  if (code !== 'ECONNREFUSED') {
    throw inUse(path, 'is served by another process');
  }
}

function inUse(path: string, why: string): Error {
  return Object.assign(new Error(`EADDRINUSE: ${path} ${why}`), { code: 'EADDRINUSE' });
}
