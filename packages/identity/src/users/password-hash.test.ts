import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { describe, expect, test } from '@jest/globals';
import {
  decoyPasswordHash,
  hashPassword,
  MAXIMUM_PASSWORD_BYTES,
  verifyPassword,
} from './password-hash.ts';

const onLinux = process.platform === 'linux' ? test : test.skip;

describe('a password hash', () => {
  onLinux('is computed by threads that yield to the thread that serves requests', async () => {
    await hashPassword('password');
    const pool = readdirSync('/proc/self/task').filter(
      (thread) => readFileSync(`/proc/self/task/${thread}/comm`, 'utf8') === 'libuv-worker\n',
    );

    expect(pool.length).toBeGreaterThan(0);
    for (const thread of pool) {
      expect(getPriority(Number(thread))).toBe(Math.min(getPriority() + 10, 19));
    }
  });

  test('is a salted argon2id hash in PHC format', async () => {
    const hash = await hashPassword('password');
    expect(hash).toMatch(
      /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
    );
    expect(await hashPassword('password')).not.toBe(hash);
  });

  test('depends on the exact password, including spaces, NUL and Unicode form', async () => {
    const password = 'caf\u00e9 password\0';
    const hash = await hashPassword(password);
    expect(await verifyPassword(password, hash)).toBe(true);
    for (const other of [
      ...[`${password} `, password.slice(0, -1), `${password}\0`, password.normalize('NFD')],
      ...[password.toUpperCase(), ` ${password}`, ''],
    ]) {
      expect(await verifyPassword(other, hash)).toBe(false);
    }
  });

  test('depends on all of a long password, also after 72 bytes', async () => {
    const common = 'p'.repeat(MAXIMUM_PASSWORD_BYTES - 1);
    const hash = await hashPassword(`${common}a`);
    expect(await verifyPassword(`${common}a`, hash)).toBe(true);
    expect(await verifyPassword(`${common}b`, hash)).toBe(false);
    expect(await verifyPassword(common, hash)).toBe(false);
  });

  test('costs the same if no password has it', async () => {
    expect(await verifyPassword('password', decoyPasswordHash)).toBe(false);
    expect(decoyPasswordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  const salt = 'c2FsdHNhbHRzYWx0c2FsdA';
  const tag = 'A'.repeat(43);
  test.each([
    ['empty', ''],
    ['of another function', `$argon2i$v=19$m=19456,t=2,p=1$${salt}$${tag}`],
    ['of another version', `$argon2id$v=16$m=19456,t=2,p=1$${salt}$${tag}`],
    ['bcrypt', '$2b$12$abcdefghijklmnopqrstuv'],
    ['without a tag', `$argon2id$v=19$m=19456,t=2,p=1$${salt}$`],
    ['with a truncated tag', `$argon2id$v=19$m=19456,t=2,p=1$${salt}$AAAAAA`],
    ['with a truncated salt', `$argon2id$v=19$m=19456,t=2,p=1$c2Fs$${tag}`],
    ['without memory', `$argon2id$v=19$m=0,t=2,p=1$${salt}$${tag}`],
    ['without passes', `$argon2id$v=19$m=19456,t=0,p=1$${salt}$${tag}`],
    ['without lanes', `$argon2id$v=19$m=19456,t=2,p=0$${salt}$${tag}`],
    ['asking for 4 TiB', `$argon2id$v=19$m=4294967295,t=2,p=1$${salt}$${tag}`],
    ['asking for a day', `$argon2id$v=19$m=19456,t=99999,p=1$${salt}$${tag}`],
    ['with a line break', `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}\n`],
  ])('matches nothing and does not throw if it is malformed: %s', async (_name, phc) => {
    expect(await verifyPassword('password', phc)).toBe(false);
  });
});
