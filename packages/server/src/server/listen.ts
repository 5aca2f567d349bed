import cluster from 'node:cluster';
import { once } from 'node:events';
import { access, chmod, constants, lstat, rename, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Backlog of connections. nginx fails if it is full, while a TCP connection would wait. */
const UNIX_SOCKET_BACKLOG = 4096;
/** Time for peers that resolved the name before its removal. */
const LATECOMERS_MILLISECONDS = 50;

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** Path of a Unix socket to serve on, instead of host and port. */
  readonly socketPath?: string | undefined;
}

/**
 * Listens on a port, or on a Unix socket for a proxy on the same machine. Every process with access
 * to the folder can connect to it and counts as 127.0.0.1. Its forwarding headers are trusted only
 * if TRUSTED_PROXIES contains that address.
 */
export async function listen(
  server: Server,
  { host, port, socketPath }: ListenAddress,
): Promise<void> {
  if (socketPath === undefined) {
    await once(server.listen({ host, port }), 'listening');
    return;
  }
  // Peers of a Unix socket have no address. Runs before other listeners, which read it.
  server.prependListener('connection', (socket: Socket) => {
    Object.defineProperty(socket, 'remoteAddress', { value: '127.0.0.1' });
  });
  // Node removes the name that it bound when it closes, and a successor may own the public name.
  const bound = boundName(socketPath);
  await once(server.listen({ path: bound, backlog: UNIX_SOCKET_BACKLOG }), 'listening');
  try {
    await chmod(bound, 0o777);
    await rename(bound, socketPath);
  } catch (error) {
    // Of several workers, the first one that listens has renamed it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw error;
    }
  }
}

/** Workers share the name of their supervisor. */
function boundName(path: string): string {
  return `${path}.${cluster.isWorker ? process.ppid : process.pid}`;
}

/**
 * Removes the name of a socket while the server still accepts the waiting connections. A later
 * connection finds no name, which nginx treats as not sent.
 */
export async function withdrawSocket(path: string): Promise<void> {
  await rm(path, { force: true });
  await sleep(LATECOMERS_MILLISECONDS);
}

/**
 * Removes the socket of a process that ended without removing it: one that does not answer.
 *
 * @throws Error with code EADDRINUSE if another process serves there, or the path is no socket
 */
export async function removeStaleSocket(path: string): Promise<void> {
  // Node would also report EACCES for a missing folder.
  await access(dirname(path), constants.W_OK);
  // A process with the same id may have ended before it could rename this.
  await rm(boundName(path), { force: true });
  const file = await lstat(path).catch(() => undefined);
  if (file === undefined) {
    return;
  }
  if (!file.isSocket()) {
    throw inUse(path, 'is there and is no socket');
  }
  const socket = connect({ path });
  const code = await once(socket, 'connect').catch((error: NodeJS.ErrnoException) => error.code);
  socket.destroy();
  if (code !== 'ECONNREFUSED') {
    throw inUse(path, 'is served by another process');
  }
  await rm(path);
}

function inUse(path: string, why: string): Error {
  return Object.assign(new Error(`EADDRINUSE: ${path} ${why}`), { code: 'EADDRINUSE' });
}

/**
 * Makes the error of a port in use name the variable that selects another port. Use it in `catch`.
 *
 * @throws Error for a port in use, otherwise the given error
 */
export function explainPortInUse(variable: string): (error: unknown) => never {
  return (error) => {
    const { code, port } = (error ?? {}) as NodeJS.ErrnoException & { readonly port?: number };
    if (code !== 'EADDRINUSE' || port === undefined) {
      throw error;
    }
    throw new Error(
      `port ${port} is in use. Stop the program that uses it, or set ${variable} to a free port.`,
    );
  };
}
