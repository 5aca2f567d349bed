import {
  generateSecureKey,
  hashPassword,
  type Identity,
  nextNotBefore,
  passwordProblem,
  passwordRules,
  RefusedChange,
  type User,
  userSchema,
} from '@gatehouse/identity';
import {
  type Command,
  type CommandInput,
  flag,
  type Option,
  text,
  UsageError,
} from '../command.ts';
import { formatTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { assertOrganizationExists, validate } from '../validate.ts';

const passwordOptions: Readonly<Record<string, Option>> = {
  generate: { type: 'boolean', description: 'Make a password and show it once.' },
};
const passwordNote = 'The password is read from standard input, or asked for.';

function viewUser({ userId, username, name, orgId, enabled, notBefore }: User) {
  return { userId, username, name, orgId, enabled, notBefore };
}

/** By the name they sign in with, or by their id. */
export async function findUser(name: string, { users }: Identity): Promise<User> {
  const user = (await users.findByUsername(name)) ?? (await users.find(name));
  if (user === undefined) {
    throw new RefusedChange('There is no such user. gatehouse users list shows all.');
  }
  return user;
}

async function readPassword(
  input: CommandInput,
  terminal: Terminal,
): Promise<{ readonly password: string; readonly generated: boolean }> {
  if (flag(input.options.generate) === true) {
    return { password: generateSecureKey(20), generated: true };
  }
  const password = await terminal.readSecret('Password');
  if (terminal.isInteractive && (await terminal.readSecret('The same again')) !== password) {
    throw new UsageError('The two passwords differ.');
  }
  return { password, generated: false };
}

/** @throws UsageError with what is wrong with the password, and how to fix it */
function assertPassword(password: string, username: string): void {
  const problem = passwordProblem(password, { username });
  if (problem !== undefined) {
    throw new UsageError('Invalid input:', [`password: ${passwordRules[problem]}`]);
  }
}

/** The password for the one who asked for it to be made, and nobody else. */
function shownPassword({ password, generated }: { password: string; generated: boolean }) {
  return generated
    ? { json: { password }, lines: [`password (shown once): ${password}`] }
    : { json: {}, lines: [] };
}

const add: Command = {
  name: 'users add',
  summary: 'Add a user.',
  positionals: ['username'],
  options: {
    name: { type: 'string', description: 'What to call the person. The username by default.' },
    org: { type: 'string', description: 'The organisation they belong to.' },
    ...passwordOptions,
  },
  notes: [passwordNote],
  async run(input, { identity, terminal, audit }) {
    const { username = '' } = input.positionals;
    if ((await identity.users.findByUsername(username)) !== undefined) {
      throw new RefusedChange('A user of that name exists already.');
    }
    const secret = await readPassword(input, terminal);
    const definition = validate(userSchema, {
      username,
      password: secret.password,
      name: text(input.options.name) ?? username,
      orgId: text(input.options.org),
    });
    await assertOrganizationExists(definition.orgId, identity);
    const user = await identity.users.ensure(definition);
    await audit({ event: 'user_changed', userId: user.userId, change: 'added' });
    const shown = shownPassword(secret);
    return {
      json: { user: viewUser(user), ...shown.json },
      text: [`Added the user ${username}, ${user.userId}.`, ...shown.lines].join('\n'),
    };
  },
};

const list: Command = {
  name: 'users list',
  summary: 'List all users.',
  async run(_input, { identity }) {
    const users = await identity.users.list();
    const rows = users.map(({ userId, username, orgId, enabled, name }) => [
      username,
      orgId,
      enabled ? 'enabled' : 'disabled',
      userId,
      name,
    ]);
    return {
      json: { users: users.map(viewUser) },
      text: formatTable([['USER', 'ORGANISATION', 'STATE', 'ID', 'NAME'], ...rows]),
    };
  },
};

const password: Command = {
  name: 'users password',
  summary: 'Set a password, and sign the user out everywhere.',
  positionals: ['username'],
  options: passwordOptions,
  notes: [passwordNote],
  async run(input, { identity, terminal, audit, now }) {
    const { userId, ...existing } = await findUser(input.positionals.username ?? '', identity);
    const secret = await readPassword(input, terminal);
    assertPassword(secret.password, existing.username);
    const passwordHash = await hashPassword(secret.password);
    const notBefore = nextNotBefore(now());
    const user = await identity.users.update(userId, (current) => ({
      ...current,
      passwordHash,
      notBefore,
    }));
    await audit({ event: 'user_changed', userId, change: 'password_changed' });
    const shown = shownPassword(secret);
    return {
      json: { user: viewUser(user), ...shown.json },
      text: [`The password of ${existing.username} is changed.`, ...shown.lines].join('\n'),
    };
  },
};

const signOut: Command = {
  name: 'users sign-out',
  summary: 'Sign a user out everywhere: every session and token ends.',
  positionals: ['username'],
  async run({ positionals: { username = '' } }, { identity, audit }) {
    const { userId } = await findUser(username, identity);
    const user = await identity.revocations.user(userId);
    await audit({ event: 'user_changed', userId, change: 'revoked' });
    return { json: { user: viewUser(user) }, text: `${user.username} is signed out everywhere.` };
  },
};

function toggle(verb: 'enable' | 'disable', summary: string): Command {
  const enabled = verb === 'enable';
  return {
    name: `users ${verb}`,
    summary,
    positionals: ['username'],
    async run({ positionals: { username = '' } }, { identity, audit, now }) {
      const { userId } = await findUser(username, identity);
      const user = await identity.users.update(userId, (current) => ({
        ...current,
        enabled,
        // Nothing they had comes back to life when they are enabled again.
        notBefore: enabled ? current.notBefore : nextNotBefore(now()),
      }));
      await audit({ event: 'user_changed', userId, change: `${verb}d` });
      return { json: { user: viewUser(user) }, text: `${user.username} is ${verb}d.` };
    },
  };
}

export const userCommands: readonly Command[] = [
  add,
  list,
  toggle('disable', 'Refuse a user at once, and sign them out everywhere.'),
  toggle('enable', 'Let a disabled user sign in again.'),
  password,
  signOut,
];
