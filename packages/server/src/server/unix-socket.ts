import { randomBytes } from 'node:crypto';
import { access, constants, link, lstat, unlink } from 'node:fs/promises';
import { connect, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Backlog of connections. nginx fails if it is full, while a TCP connection would wait. */
export const UNIX_SOCKET_BACKLOG = 4096;
/** Time for peers that resolved the name before its removal. */
const LATECOMERS_MILLISECONDS = 50;

/**
 * Listens on a Unix socket for a proxy on the same machine. Every process with access to the folder
 * can connect and counts as 127.0.0.1. Its forwarding headers are trusted only if TRUSTED_PROXIES
 * contains that address.
 *
 * @returns a function that removes the name, so that no new connections arrive while the socket
 *   still accepts the waiting ones
 * @throws Error with code EADDRINUSE if another process serves there. A stale socket is replaced
 */
export async function listenOnUnixSocket(
  server: Server,
  path: string,
): Promise<() => Promise<void>> {
  markLocalPeers(server);
  await assertWritableFolder(path);
  // Closing removes the name that was bound, even if another process owns it. So bind a unique
  // name.
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
  return () => removeName(path, ino);
}

/** Peers of a Unix socket have no address. They count as this machine. */
export function markLocalPeers(server: Server): void {
  // Runs before other listeners, which read the address.
  server.prependListener('connection', (socket: Socket) => {
    Object.defineProperty(socket, 'remoteAddress', { value: '127.0.0.1' });
  });
}

/** Node also reports EACCES for a missing folder. */
export async function assertWritableFolder(path: string): Promise<void> {
  await access(dirname(path), constants.W_OK);
}

/** Removes the name unless it now belongs to another process, and waits for latecomers. */
export async function removeName(path: string, ino: number): Promise<void> {
  try {
    if ((await lstat(path)).ino === ino) {
      await unlink(path);
    }
  } catch {
    // The socket closes in any case, as a TCP listener does.
  }
  await sleep(LATECOMERS_MILLISECONDS);
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(
      { path, backlog: UNIX_SOCKET_BACKLOG, readableAll: true, writableAll: true },
      () => {
        server.off('error', reject);
        resolve();
      },
    );
  });
}

/**
 * Gives a bound socket its public name.
 *
 * @throws Error with code EADDRINUSE if another process serves there. A stale socket is replaced
 */
export async function takeName(ownName: string, path: string): Promise<void> {
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

/** Returns whether the path is a stale socket. Other files are never removed. */
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
