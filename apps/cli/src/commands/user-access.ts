import type { SignInLock } from '@gatehouse/identity';
import type { Command } from '../command-line/command.ts';
import { formatTable, formatTime } from '../command-line/table.ts';
import { describeUser, findUser } from './find-user.ts';

const lockedBrowsers = {
  account: 'browsers in which the user never signed in',
  browser: 'one browser in which the user signed in before',
} as const;

function describeLock({ kind, until }: SignInLock): string {
  return `until ${formatTime(until / 1000)}: ${lockedBrowsers[kind]}`;
}

const show: Command = {
  name: 'users show',
  summary: 'Show a user: settings, locks after wrong passwords, and open sessions.',
  positionals: ['username'],
  async run({ positionals: { username = '' } }, { identity }) {
    const found = await findUser(username, identity);
    const locks = await identity.signInLocks.list(found);
    const sessions = await identity.userSessions.sessions(found.userId);
    const { notBefore, roles, ...members } = describeUser(found);
    return {
      json: { user: describeUser(found), locks, sessions: sessions.length },
      text: formatTable([
        ...Object.entries(members).map(([name, value]) => [name, String(value ?? '-')]),
        ['roles', roles.length === 0 ? '-' : roles.join(', ')],
        ['revoked before', notBefore === 0 ? 'never' : formatTime(notBefore)],
        ...(locks.length === 0
          ? [['locked', 'no']]
          : locks.map((lock) => ['locked', describeLock(lock)])),
        ['sessions', String(sessions.length)],
      ]),
    };
  },
};

const sessions: Command = {
  name: 'users sessions',
  summary: 'List the browsers in which a user is signed in, and the applications with access.',
  positionals: ['username'],
  notes: ['To end all of them, run gatehouse users sign-out.'],
  async run({ positionals: { username = '' } }, { identity }) {
    const { userId } = await findUser(username, identity);
    const browsers = await identity.userSessions.sessions(userId);
    const applications = await identity.userSessions.grants(userId);
    return {
      json: { sessions: browsers, applications },
      text: [
        formatTable([
          ['BROWSER SIGNED IN', 'EXPIRES', 'APPLICATIONS'],
          ...browsers.map(({ signedInAt, expiresAt, clientIds }) => [
            formatTime(signedInAt),
            formatTime(expiresAt),
            clientIds.join(' '),
          ]),
        ]),
        '',
        formatTable([
          ['APPLICATION', 'ACCESS SINCE', 'EXPIRES', 'SCOPE'],
          ...applications.map(({ clientId, since, expiresAt, scope }) => [
            clientId,
            formatTime(since),
            formatTime(expiresAt),
            scope,
          ]),
        ]),
      ].join('\n'),
    };
  },
};

const unlock: Command = {
  name: 'users unlock',
  summary: 'Let a user sign in again after too many wrong passwords.',
  positionals: ['username'],
  async run({ positionals: { username = '' } }, { identity, audit }) {
    const user = await findUser(username, identity);
    await identity.signInLocks.unlock(user);
    await audit({ event: 'user_changed', userId: user.userId, change: 'unlocked' });
    return { json: { user: describeUser(user) }, text: `${user.username} can sign in again.` };
  },
};

export const userAccessCommands: readonly Command[] = [show, sessions, unlock];
