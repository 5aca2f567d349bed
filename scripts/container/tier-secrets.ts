/**
 * The secrets of the containers. Each folder is a volume that some containers share, so that a
 * container mounts only the secrets that it needs.
 *
 *   store/     master.key, store-url   authorization servers, gateways, commands for operators
 *   database/  database-url            device service
 *   operator/  redis-password          redis-cli for operators
 *   redis/     users.acl               Redis: digests of the passwords
 *   postgres/  role-verifier           PostgreSQL: a SCRAM verifier of the password
 *
 * The last two are derived from the others at every start. A server that only checks a password
 * does not know it, and changed access rules apply at the next start.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOrCreateSecretFile } from '@gatehouse/server/configuration';
import { redisUsers } from './redis-users.ts';
import { scramVerifier } from './scram-verifier.ts';

export const renewableSecrets = ['store', 'database', 'operator'] as const;
export type RenewableSecret = (typeof renewableSecrets)[number];

/** The message contains the path and the remedy, but no content of the file. */
export class SecretFileError extends Error {
  constructor(path: string, problem: string) {
    super(`The secret ${path} ${problem}. Repair the file, or restore it from a backup.`);
    this.name = 'SecretFileError';
  }
}

/**
 * Creates the missing secrets.
 *
 * @param renewed an existing secret to replace
 * @throws SecretFileError if a file cannot be read or written
 */
export function makeTierSecrets(root: string, renewed?: RenewableSecret): void {
  if (renewed === 'store') {
    replace('store/store-url', newStoreUrl(), 0o400);
  }
  if (renewed === 'database') {
    replace('database/database-url', newDatabaseUrl(), 0o400);
  }
  if (renewed === 'operator') {
    replace('operator/redis-password', newPassword(), 0o400);
  }
  secret('store/master.key', () => `${hexadecimal()}\n`);

  const store = passwordOf('store/store-url', newStoreUrl);
  const operator = secret('operator/redis-password', newPassword);
  derived('redis/users.acl', redisUsers({ store, operator }));

  const database = passwordOf('database/database-url', newDatabaseUrl);
  derived('postgres/role-verifier', [scramVerifier(database)]);

  /** Only its owner can read it. Every app runs as this user. */
  function secret(name: string, create: () => string): string {
    const path = join(root, name);
    return withFileErrors(path, () => {
      const content = readOrCreateSecretFile(path, create).trim();
      chmodSync(path, 0o400);
      return content;
    });
  }

  function passwordOf(name: string, newUrl: () => string): string {
    const url = URL.parse(secret(name, newUrl));
    if (url === null || url.password === '') {
      throw new SecretFileError(join(root, name), 'does not contain a URL with a password');
    }
    return url.password;
  }

  /** Every user can read it, because the user of the server that mounts the folder differs. */
  function derived(name: string, lines: readonly string[]): void {
    replace(name, `${lines.join('\n')}\n`, 0o444);
  }

  /** Atomic, so that readers never see half a file. */
  function replace(name: string, content: string, mode: number): void {
    const path = join(root, name);
    withFileErrors(path, () => {
      // A start that was killed may have left a file that is not writable.
      rmSync(`${path}.tmp`, { force: true });
      writeFileSync(`${path}.tmp`, content, { mode, flush: true });
      renameSync(`${path}.tmp`, path);
    });
  }
}

/** @throws SecretFileError instead of an error of the file system */
function withFileErrors<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const user = process.getuid?.();
    throw code === undefined
      ? error
      : new SecretFileError(path, `cannot be read or written by the user ${user} (${code})`);
  }
}

function hexadecimal(): string {
  return randomBytes(32).toString('hex');
}

function newPassword(): string {
  return `${hexadecimal()}\n`;
}

function newStoreUrl(): string {
  return `redis://gatehouse:${hexadecimal()}@redis:6379\n`;
}

function newDatabaseUrl(): string {
  return `postgres://gatehouse_devices:${hexadecimal()}@postgres:5432/devices\n`;
}
