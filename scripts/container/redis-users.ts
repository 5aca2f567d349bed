import { createHash, randomBytes } from 'node:crypto';
import { redisAccessRule } from '@gatehouse/store';

/**
 * The lines of the ACL file of Redis, with SHA-256 digests of the passwords.
 *
 * Redis loads its append-only file as the user `default`, and drops each transaction that this user
 * is not allowed to run. Every script with two writes is a transaction. Therefore `default` has all
 * permissions and a random password that is not stored.
 */
export function redisUsers(passwords: {
  readonly store: string;
  readonly operator: string;
}): readonly string[] {
  const everything = 'on ~* &* +@all';
  return [
    `user default ${everything} ${digest(randomBytes(32).toString('hex'))}`,
    // For the health check: no password, and no permission except PING.
    'user health on nopass resetchannels resetkeys -@all +ping',
    `user operator ${everything} ${digest(passwords.operator)}`,
    `user gatehouse ${redisAccessRule} ${digest(passwords.store)}`,
  ];
}

function digest(password: string): string {
  return `#${createHash('sha256').update(password).digest('hex')}`;
}
