import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createStore } from '@gatehouse/store';
import { basic, freePort, type RedisServer, startApp } from '@gatehouse/testing';

export interface StoredToken {
  readonly key: string;
  readonly value: string;
}

const PREFIX = 'token:';

/** Issues tokens through an authorization server, and returns the records that it stored. */
export async function sampleTokens(redis: RedisServer, count: number): Promise<StoredToken[]> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const client = { clientId: 'bench', secureKey: 'benchKey0123456789abc' };
  const port = await freePort();
  const server = await startApp('authorization-server', {
    AUTHORIZATION_SERVER_PORT: String(port),
    OPERATIONS_PORT: String(await freePort()),
    STORE_URL: redis.url,
    MASTER_KEY_FILE: file('master.key', randomBytes(32).toString('hex')),
    COOKIE_KEYS_FILE: file('cookie.keys', randomBytes(32).toString('hex')),
    BOOTSTRAP_FILE: file(
      'bootstrap.json',
      JSON.stringify({
        organizations: [{ id: 'bench', name: 'Bench' }],
        clients: [{ ...client, name: 'Bench', orgId: 'bench', scopes: ['device:read'] }],
      }),
    ),
  });
  for (let i = 0; i < count; i += 1) {
    const reply = await fetch(`http://127.0.0.1:${port}/token`, {
      method: 'POST',
      headers: { authorization: basic(client.clientId, client.secureKey) },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    if (!reply.ok) {
      throw new Error(await reply.text());
    }
  }
  await server.stop();
  const store = createStore(redis.url);
  const listed = await redis.command('KEYS', `${PREFIX}*`);
  const tokens = await Promise.all(
    (listed.match(/token:[\w-]+/g) ?? []).map(async (key) => ({
      key,
      value: (await store.get(key)) ?? '',
    })),
  );
  await store.close();
  rmSync(directory, { recursive: true });
  return tokens;
}

/** A key of the same length as those of the sample. */
export function newKey(): string {
  return PREFIX + randomBytes(32).toString('base64url');
}
