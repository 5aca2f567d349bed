import { createServer } from 'node:net';

/** Below what systems give to outgoing connections, which could take the port before its process does. */
const LOWEST = 12_000;
const HIGHEST = 32_000;
const ATTEMPTS = 20;

/** A port nobody listens on at this moment, for a process that must be told its port beforehand. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (await isFree(port)) {
      return port;
    }
  }
  throw new Error('No free port was found.');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
