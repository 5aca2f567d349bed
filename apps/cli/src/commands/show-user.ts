import type { SignInLock } from '@gatehouse/identity';
import type { Command } from '../command-line/command.ts';
import { formatTable, formatTime, formatUse, rowsOf } from '../command-line/format.ts';
import { describeUser, findUser } from './users.ts';

export const showUserCommand: Command = {
  usage: 'users show <username>',
  summary: 'Show a user: settings, locks, and the browsers and applications with access.',
  notes: ['To end all sessions, run gatehouse tokens revoke --user.'],
  example: 'alice',
  async run({ positionals: { username = '' } }, { identity }) {
    const found = await findUser(username, identity);
    const locks = await identity.signInLocks.list(found);
    const factors = await identity.factors.describe(found.userId);
    const sessions = await identity.userSessions.sessions(found.userId);
    const applications = await identity.userSessions.grants(found.userId);
    const lastSignInAt = await identity.lastUse.ofUser(found.userId);
    const { notBefore, ...members } = describeUser(found);
    return {
      json: {
        ...{ user: { ...describeUser(found), lastSignInAt }, locks, factors },
        ...{ sessions, applications },
      },
      text: [
        formatTable([
          ...rowsOf(members),
          ['last sign-in', formatUse(lastSignInAt)],
          ['revoked before', notBefore === 0 ? 'never' : formatTime(notBefore)],
          ...(locks.length === 0
            ? [['locked', 'no']]
            : locks.map((lock) => ['locked', describeLock(lock)])),
          [
            'authenticator app',
            factors.app === undefined ? 'none' : `since ${formatTime(factors.app.enrolledAt)}`,
          ],
          ['recovery codes', String(factors.recoveryCodes)],
          ...factors.passkeys.map(({ name, createdAt, lastUsedAt }) => [
            'passkey',
            `${name}, since ${formatTime(createdAt)}, last used ${formatUse(lastUsedAt)}`,
          ]),
          ['sessions', String(sessions.length)],
        ]),
        formatTable([
          ['BROWSER SIGNED IN', 'EXPIRES', 'LAST USED', 'FROM', 'APPLICATIONS'],
          ...sessions.map(({ signedInAt, expiresAt, lastUse, clientIds }) => [
            formatTime(signedInAt),
            formatTime(expiresAt),
            lastUse === undefined ? '-' : formatTime(lastUse.at),
            lastUse?.from ?? '-',
            clientIds.join(' '),
          ]),
        ]),
        formatTable([
          ['APPLICATION', 'ACCESS SINCE', 'EXPIRES', 'SCOPE'],
          ...applications.map(({ clientId, since, expiresAt, scope }) => [
            clientId,
            formatTime(since),
            formatTime(expiresAt),
            scope,
          ]),
        ]),
      ].join('\n\n'),
    };
  },
};

function describeLock({ kind, until }: SignInLock): string {
  const browsers = {
    account: 'browsers in which the user never signed in',
    browser: 'one browser in which the user signed in before',
  };
  return `until ${formatTime(until / 1000)}: ${browsers[kind]}`;
}
