import {
  generateSecureKey,
  hashPassword,
  type Identity,
  passwordProblem,
  passwordRules,
  RejectedChangeError,
  readAttribute,
  type User,
  userProfileSchema,
  userSchema,
} from '@gatehouse/identity';
import {
  type Command,
  type CommandInput,
  pairs,
  text,
  UsageError,
} from '../command-line/command.ts';
import { formatTable, formatUse } from '../command-line/format.ts';
import { filtered, filterOptions } from '../command-line/lists.ts';
import {
  assertOrganizationExists,
  createMemberOptions,
  validate,
} from '../command-line/member-options.ts';
import type { Terminal } from '../command-line/terminal.ts';
import { authorizationServerUrl } from '../open-identity-store.ts';
import { invite } from './invite.ts';

export const profile = createMemberOptions(userProfileSchema.shape, {
  'name <name>': 'Display name. Default: the username.',
  'given-name <name>': 'Given name, for applications.',
  'family-name <name>': 'Family name, for applications.',
  'email <address>': 'Email address. An empty value removes it.',
  '[no-]email-verified': 'You confirmed that the address belongs to the user.',
  'role <role...>': 'Role in applications, as free text. Replaces all roles.',
});

export const attributeOption = {
  'attribute <name=value...>': 'Declared attribute of the user. An empty value removes it.',
};

const passwordOptions = { generate: 'Generate a password and print it once.' };
const passwordNote = 'Enter the password at the prompt or on standard input.';

/** @param name a username, a verified address, or a user id */
export async function findUser(name: string, { users }: Identity): Promise<User> {
  const user = (await users.findByLogin(name)) ?? (await users.find(name));
  if (user === undefined) {
    throw new RejectedChangeError('The user does not exist. Run gatehouse users list.');
  }
  return user;
}

/** The JSON form of a user, without password hashes. */
export function describeUser(user: User) {
  const { userId, username, name, givenName, familyName, orgId, email, emailVerified } = user;
  const { roles, attributes = {}, enabled, notBefore } = user;
  const shown = { userId, username, name, givenName, familyName, orgId, email, emailVerified };
  return { ...shown, roles, attributes, enabled, notBefore };
}

const add: Command = {
  usage: 'users add <username>',
  summary: 'Add a user.',
  options: {
    'org <id>': 'Organization of the user.',
    ...profile.options,
    ...attributeOption,
    ...passwordOptions,
  },
  notes: [passwordNote],
  example: 'alice --org acme --email alice@example.com --generate',
  async run(input, { identity, terminal, audit }) {
    const { username = '' } = input.positionals;
    if ((await identity.users.findByUsername(username)) !== undefined) {
      throw new RejectedChangeError('A user with this username already exists.');
    }
    const secret = await readPassword(input, terminal);
    const definition = validate(userSchema, {
      username,
      password: secret.password,
      name: username,
      orgId: text(input.options.org),
      ...profile.read(input),
      attributes: withoutEmpty((await readAttributes(input, identity)) ?? {}),
    });
    await assertOrganizationExists(definition.orgId, identity);
    const user = await identity.users.ensure(definition);
    await audit({ event: 'user_changed', userId: user.userId, change: 'added' });
    return {
      json: { user: describeUser(user), ...secret.json },
      text: [`Added the user ${username} with the id ${user.userId}.`, ...secret.lines].join('\n'),
    };
  },
};

/** Where `users list --search` finds its text. */
const searched = ['username', 'userId', 'name', 'givenName', 'familyName', 'email'] as const;

const list: Command = {
  usage: 'users list',
  summary: 'List all users.',
  options: filterOptions,
  example: '--org acme --search alice@example',
  async run(input, { identity }) {
    const users = await Promise.all(
      filtered(await identity.users.list(), input, searched).map(async (user) => ({
        ...describeUser(user),
        lastSignInAt: await identity.lastUse.ofUser(user.userId),
      })),
    );
    const rows = users.map(({ userId, username, orgId, enabled, lastSignInAt, name }) => [
      username,
      orgId,
      enabled ? 'enabled' : 'disabled',
      formatUse(lastSignInAt),
      userId,
      name,
    ]);
    const heading = ['USER', 'ORGANIZATION', 'STATE', 'LAST SIGN-IN', 'ID', 'NAME'];
    return { json: { users }, text: formatTable([heading, ...rows]) };
  },
};

/** The attributes that the options name, by name. An empty text removes one. */
export async function readAttributes(
  input: CommandInput,
  { settings }: Identity,
): Promise<User['attributes']> {
  const given = pairs(input, 'attribute');
  const { userAttributes } = await settings.read();
  return given.length === 0
    ? undefined
    : Object.fromEntries(
        given.map(([name, entered]) => [
          name,
          entered === '' ? '' : readAttribute(name, entered, userAttributes),
        ]),
      );
}

export function withoutEmpty(attributes: NonNullable<User['attributes']>): User['attributes'] {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== ''));
}

const password: Command = {
  usage: 'users password <username>',
  summary: 'Set the password of a user. Unlocks the user and signs the user out everywhere.',
  options: {
    ...passwordOptions,
    link: 'Print a link with which the user chooses the password. Until then, nothing changes.',
  },
  notes: [passwordNote, 'A link is valid once and for one hour. Give it only to the user.'],
  example: 'alice --link',
  async run(input, { identity, terminal, audit, environment }) {
    const found = await findUser(input.positionals.username ?? '', identity);
    const { userId, username } = found;
    if (input.options.link === true) {
      const token = await identity.actionLinks.issue({ kind: 'reset', userId });
      if (token === undefined) {
        throw new RejectedChangeError('The user is disabled. Run gatehouse users change --enable.');
      }
      const link = `${authorizationServerUrl(environment)}/reset-password?token=${token}`;
      await audit({ event: 'user_changed', userId, change: 'reset_link_issued' });
      return { json: { link }, text: `Valid once, for one hour:\n${link}` };
    }
    const secret = await readPassword(input, terminal);
    const problem = passwordProblem(secret.password, { username });
    if (problem !== undefined) {
      throw new UsageError('Invalid input:', [`password: ${passwordRules[problem]}`]);
    }
    const passwordHash = await hashPassword(secret.password);
    const change = { passwordHash, mustChangePassword: undefined };
    const user = await identity.revocations.user(userId, change);
    await identity.signInLocks.unlock(user);
    await audit({ event: 'user_changed', userId, change: 'password_changed' });
    return {
      json: { user: describeUser(user), ...secret.json },
      text: [`Changed the password of ${username}.`, ...secret.lines].join('\n'),
    };
  },
};

/** The password, and what the command prints about it: only a generated one. */
async function readPassword({ options }: CommandInput, terminal: Terminal) {
  if (options.generate === true) {
    const generated = generateSecureKey(20);
    const lines = [`Password (shown once): ${generated}`];
    return { password: generated, json: { password: generated }, lines };
  }
  const entered = await terminal.readSecret('Password');
  if (terminal.isInteractive && (await terminal.readSecret('Password again')) !== entered) {
    throw new UsageError('The two passwords differ.');
  }
  return { password: entered, json: {}, lines: [] };
}

export const userCommands: readonly Command[] = [add, list, password, invite];
