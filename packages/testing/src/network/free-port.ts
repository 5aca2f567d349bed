import { createServer } from 'node:net';

/** Below the range for outgoing connections, which could otherwise occupy the port first. */
const LOWEST = 12_000;
const HIGHEST = 32_000;
const ATTEMPTS = 20;

/** Finds an unused port, for a process that needs its port before it starts. */
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
