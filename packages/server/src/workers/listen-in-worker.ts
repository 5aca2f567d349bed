import type { Server } from 'node:http';
import { markLocalPeers, UNIX_SOCKET_BACKLOG } from '../server/unix-socket.ts';
import { sharedSocketName } from './shared-socket.ts';

/**
 * Listens on the port or the Unix socket that all workers of the supervisor share. The kernel
 * gives each connection to one of them. A worker that ends leaves the waiting connections to the
 * others.
 *
 * @returns a function that resolves when no new connections can arrive: the supervisor has closed
 *   the listener and then the channel
 */
export async function listenInWorker(
  server: Server,
  { host, port, socketPath }: { host: string; port: number; socketPath?: string | undefined },
): Promise<() => Promise<void>> {
  if (socketPath !== undefined) {
    markLocalPeers(server);
  }
  const at =
    socketPath === undefined
      ? { host, port }
      : { path: sharedSocketName(socketPath, process.ppid), backlog: UNIX_SOCKET_BACKLOG };
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return () =>
    new Promise((resolve) => {
      if (process.connected) {
        process.once('disconnect', resolve);
      } else {
        resolve();
      }
    });
}
