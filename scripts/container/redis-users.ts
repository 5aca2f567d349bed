import { createHash, randomBytes } from 'node:crypto';
import { redisAccessRule } from '@gatehouse/store';

/**
 * The lines of Redis's ACL file. It holds SHA-256 digests of the passwords, never the passwords.
 *
 * Redis loads its append-only file as the user `default`, and drops each transaction that this user may not run. Every
 * script with two writes is such a transaction. So `default` has all rights, and a password that nobody knows.
 */
export function redisUsers(passwords: {
  readonly store: string;
  readonly operator: string;
}): readonly string[] {
  const everything = 'on ~* &* +@all';
  return [
    `user default ${everything} ${digest(randomBytes(32).toString('hex'))}`,
    // The health check: without a password it can do nothing but ask whether Redis answers.
    'user health on nopass resetchannels resetkeys -@all +ping',
    `user operator ${everything} ${digest(passwords.operator)}`,
    `user gatehouse ${redisAccessRule} ${digest(passwords.store)}`,
  ];
}

function digest(password: string): string {
  return `#${createHash('sha256').update(password).digest('hex')}`;
}
