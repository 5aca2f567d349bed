import { rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

/** The port of an app's operations, unless a variable names another. */
const OPERATIONS_OFFSET = 100;

/**
 * Finds an unused port, for a process that needs its port before it starts. The port of its
 * operations is unused, too.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = LOWEST + share * PORTS_OF_SHARE + Math.floor(Math.random() * PORTS_OF_SHARE);
    const operations = port + OPERATIONS_OFFSET;
    if (!found.has(port) && !found.has(operations)) {
      found.add(port).add(operations);
      if (reserve(port) && (await isFree(port)) && (await isFree(operations))) {
        return port;
      }
    }
  }
  throw new Error('No free port was found.');
}

/** A process listens long before this time has passed. */
const RESERVED_MILLISECONDS = 60_000;
const reservations = new Set<string>();
process.once('exit', () => reservations.forEach((file) => void rmSync(file, { force: true })));

/** Another run of tests on this machine must not find the port before it is used. */
function reserve(port: number): boolean {
  const file = join(tmpdir(), `gatehouse-test-port-${port}`);
  try {
    if (Date.now() - statSync(file).mtimeMs < RESERVED_MILLISECONDS) {
      return false;
    }
    rmSync(file, { force: true });
  } catch {
    // Nobody has reserved it.
  }
  try {
    writeFileSync(file, '', { flag: 'wx' });
  } catch {
    return false;
  }
  reservations.add(file);
  return true;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
