import { createServer } from 'node:net';

/** Below the range for outgoing connections, which could otherwise occupy the port first. */
const LOWEST = 12_000;
const HIGHEST = 32_000;
const ATTEMPTS = 20;

/**
 * Each Jest worker has its own ports. A process listens some time after its port was found, and in
 * the meantime another worker could find the same port.
 */
const SHARES = 8;
const PORTS_OF_SHARE = (HIGHEST - LOWEST) / SHARES;
const share = Number(process.env.JEST_WORKER_ID ?? process.pid) % SHARES;
const found = new Set<number>();

/** Finds an unused port, for a process that needs its port before it starts. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = LOWEST + share * PORTS_OF_SHARE + Math.floor(Math.random() * PORTS_OF_SHARE);
    if (!found.has(port)) {
      found.add(port);
      if (await isFree(port)) {
        return port;
      }
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
