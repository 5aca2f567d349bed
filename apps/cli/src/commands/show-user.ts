import type { SignInLock } from '@gatehouse/identity';
import type { Command } from '../command-line/command.ts';
import { formatTable, formatTime, formatUse, rowsOf } from '../command-line/format.ts';
import { shownUser } from './users.ts';

export const showUserCommand: Command = {
  usage: 'users show <username>',
  summary: 'Show a user: settings, locks, and the browsers and applications with access.',
  notes: ['To end all sessions, run gatehouse tokens revoke --user.'],
  example: 'alice',
  async run({ positionals: { username = '' } }, { operators }) {
    const { userId } = await operators.users.find(username);
    const read = await operators.users.read(userId);
    const { user, lastSignInAt, locks, factors, sessions, applications } = read;
    const { notBefore, ...members } = shownUser(user);
    return {
      json: {
        ...{ user: { ...shownUser(user), lastSignInAt }, locks, factors },
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
