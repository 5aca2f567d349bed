/**
 * Runs before every start with containers: makes the secrets that do not exist yet, one folder (a volume) for those who
 * share it, so that each container mounts only what it needs.
 *
 *   /secrets/store     master.key, store-url   authorization servers, gateways, operators' commands
 *   /secrets/cookies   cookie.keys             authorization servers
 *   /secrets/database  database-url            device service
 *   /secrets/redis     users.acl               Redis: a digest of the password
 *   /secrets/postgres  role-verifier           PostgreSQL: a SCRAM verifier of the password
 *
 * The last two are derived anew each time from the URLs: a server that only checks a password does not know it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOrCreateSecretFile } from '@gatehouse/configuration';
import { redisAccessRule } from '@gatehouse/store';
import { scramVerifier } from './scram-verifier.ts';

const root = '/secrets';

const hexadecimal = () => randomBytes(32).toString('hex');
const passwordOf = (url: string) => new URL(url).password;

secret('store/master.key', () => `${hexadecimal()}\n`);
secret('cookies/cookie.keys', () => `${hexadecimal()}\n`);

const storeUrl = secret('store/store-url', () => `redis://gatehouse:${hexadecimal()}@redis:6379\n`);
const digest = createHash('sha256').update(passwordOf(storeUrl)).digest('hex');
derived('redis/users.acl', [
  // Without a password one may ask whether it lives, as the health check does.
  'user default on nopass resetchannels resetkeys -@all +ping',
  `user gatehouse ${redisAccessRule} #${digest}`,
]);

const databaseUrl = secret(
  'database/database-url',
  () => `postgres://gatehouse_devices:${hexadecimal()}@postgres:5432/devices\n`,
);
derived('postgres/role-verifier', [scramVerifier(passwordOf(databaseUrl))]);

/** Only who made it may read it: every app runs as the same user as this. */
function secret(name: string, create: () => string): string {
  const path = join(root, name);
  const content = readOrCreateSecretFile(path, create).trim();
  chmodSync(path, 0o400);
  return content;
}

/** Readable for the one server whose container mounts the folder, whatever user it runs as. Never half written. */
function derived(name: string, lines: readonly string[]): void {
  const path = join(root, name);
  // Left behind by a start that was killed; it may not be written to.
  rmSync(`${path}.tmp`, { force: true });
  writeFileSync(`${path}.tmp`, `${lines.join('\n')}\n`, { mode: 0o444, flush: true });
  renameSync(`${path}.tmp`, path);
}
