import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, manyUsers, startApp } from '@gatehouse/testing';

export const USERS = 50;

export interface BenchedServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** An authorization server on the embedded store, with users and an application for each. */
export async function startBenchedServer(
  environment: Readonly<Record<string, string>> = {},
): Promise<BenchedServer> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const port = await freePort();
  const server = await startApp('authorization-server', {
    AUTHORIZATION_SERVER_PORT: String(port),
    OPERATIONS_PORT: String(await freePort()),
    STORE_URL: `sqlite:${join(directory, 'store.sqlite')}`,
    MASTER_KEY_FILE: file('master.key', randomBytes(32).toString('hex')),
    COOKIE_KEYS_FILE: file('cookie.keys', randomBytes(32).toString('hex')),
    BOOTSTRAP_FILE: file('bootstrap.json', JSON.stringify(manyUsers(USERS))),
    // One address sends all requests. The server still counts them.
    CLIENT_ENDPOINT_RATE_LIMIT: '9999999/60',
    PAGE_RATE_LIMIT: '9999999/60',
    TRUSTED_PROXIES: '127.0.0.1,::1',
    ...environment,
  });
  return {
    url: `http://localhost:${port}`,
    pid: server.pid,
    async stop() {
      await server.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

/** Each sign-in comes from another address, because sign-ins are limited by address. */
export function addressOf(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}
