import { chmod, lstat, rm } from 'node:fs/promises';
import { assertWritableFolder, removeName, takeName } from '../server/unix-socket.ts';

/** The name that the workers bind, until the supervisor gives the socket its public name. */
export function sharedSocketName(path: string, supervisorPid: number): string {
  return `${path}.${supervisorPid.toString(16)}`;
}

export interface SharedSocket {
  /** Gives a socket that a worker has bound its public name. */
  publish(): Promise<void>;
  /** Removes the public name, while the workers still accept waiting connections. */
  withdraw(): Promise<void>;
}

/** The name of a Unix socket that several workers share. It belongs to their supervisor. */
export async function createSharedSocket(path: string): Promise<SharedSocket> {
  const bound = sharedSocketName(path, process.pid);
  let ino: number | undefined;
  await assertWritableFolder(path);
  // A process with the same id may have ended before it could remove this name.
  await rm(bound, { force: true });
  return {
    async publish() {
      const socket = await lstat(bound).catch(() => undefined);
      // Only the first worker binds the name. The others share its socket.
      if (socket === undefined) {
        return;
      }
      try {
        await chmod(bound, 0o777);
        await takeName(bound, path);
      } finally {
        await rm(bound, { force: true });
      }
      ino = socket.ino;
    },
    async withdraw() {
      if (ino !== undefined) {
        await removeName(path, ino);
      }
    },
  };
}
