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
 * With `--renew store`, `--renew database` or `--renew cookies` it makes that password or key anew; docs/operations.md
 * says who has to be told.
 */
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOrCreateSecretFile } from '@gatehouse/configuration';
import { redisAccessRule } from '@gatehouse/store';
import { scramVerifier } from './scram-verifier.ts';

const root = '/secrets';
const renewable = ['store', 'database', 'cookies'];
const renewed = readRenewed();

const hexadecimal = () => randomBytes(32).toString('hex');
const passwordOf = (url: string) => new URL(url).password;

const newStoreUrl = () => `redis://gatehouse:${hexadecimal()}@redis:6379\n`;
const newDatabaseUrl = () =>
  `postgres://gatehouse_devices:${hexadecimal()}@postgres:5432/devices\n`;

if (renewed === 'store') {
  replace('store/store-url', newStoreUrl(), 0o400);
}
if (renewed === 'database') {
  replace('database/database-url', newDatabaseUrl(), 0o400);
}
secret('store/master.key', () => `${hexadecimal()}\n`);
const cookieKeys = secret('cookies/cookie.keys', () => `${hexadecimal()}\n`);
if (renewed === 'cookies') {
  // The one before still verifies: nobody is signed out.
  replace('cookies/cookie.keys', `${hexadecimal()}\n${cookieKeys.split('\n')[0]}\n`, 0o400);
}

const storeUrl = secret('store/store-url', newStoreUrl);
const digest = createHash('sha256').update(passwordOf(storeUrl)).digest('hex');
derived('redis/users.acl', [
  // Without a password one may ask whether it lives, as the health check does.
  'user default on nopass resetchannels resetkeys -@all +ping',
  `user gatehouse ${redisAccessRule} #${digest}`,
]);

const databaseUrl = secret('database/database-url', newDatabaseUrl);
derived('postgres/role-verifier', [scramVerifier(passwordOf(databaseUrl))]);

/** Only who made it may read it: every app runs as the same user as this. */
function secret(name: string, create: () => string): string {
  const path = join(root, name);
  const content = readOrCreateSecretFile(path, create).trim();
  chmodSync(path, 0o400);
  return content;
}

/** Readable for the one server whose container mounts the folder, whatever user it runs as. */
function derived(name: string, lines: readonly string[]): void {
  replace(name, `${lines.join('\n')}\n`, 0o444);
}

/** Never half written. */
function replace(name: string, content: string, mode: number): void {
  const path = join(root, name);
  // Left behind by a start that was killed; it may not be written to.
  rmSync(`${path}.tmp`, { force: true });
  writeFileSync(`${path}.tmp`, content, { mode, flush: true });
  renameSync(`${path}.tmp`, path);
}

/** One at a time: who names two, or none, may believe that more was made anew than was. */
function readRenewed(): string | undefined {
  const [option, name = '', ...rest] = process.argv.slice(2);
  if (option === undefined) {
    return undefined;
  }
  if (option !== '--renew' || !renewable.includes(name) || rest.length > 0) {
    console.error(`--renew takes one of: ${renewable.join(', ')}. Nothing was changed.`);
    process.exit(1);
  }
  return name;
}
