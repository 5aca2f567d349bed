import { type Identity, readAttribute, userProfileSchema } from '@gatehouse/identity';
import type { NewUser, UserView } from '@gatehouse/operators';
import {
  type Command,
  type CommandInput,
  pairs,
  text,
  UsageError,
} from '../command-line/command.ts';
import { formatTable, formatUse } from '../command-line/format.ts';
import { filterOptions, readFilter, readPages } from '../command-line/lists.ts';
import { createMemberOptions } from '../command-line/member-options.ts';
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

/** The JSON form of a user, without password hashes. */
export function shownUser({ version: _version, ...user }: UserView) {
  return user;
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
  async run(input, { identity, operators, operator, terminal }) {
    const { username = '' } = input.positionals;
    const definition = {
      username,
      name: username,
      orgId: text(input.options.org),
      ...profile.read(input),
      attributes: withoutEmpty((await readAttributes(input, identity)) ?? {}),
      password: await readPassword(input, terminal),
    };
    const { user, password } = await operators.users.create(operator, definition as NewUser);
    return {
      json: { user: shownUser(user), password },
      text: [
        `Added the user ${username} with the id ${user.userId}.`,
        ...generatedLines(password),
      ].join('\n'),
    };
  },
};

const list: Command = {
  usage: 'users list',
  summary: 'List all users.',
  options: filterOptions,
  example: '--org acme --search alice@example',
  async run(input, { operators }) {
    const users = await readPages(input, Number.POSITIVE_INFINITY, (page) =>
      operators.users.list({ ...readFilter(input), ...page }),
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
    return { json: { users: users.map(shownUser) }, text: formatTable([heading, ...rows]) };
  },
};

/** The attributes that the options name, by name. An empty text removes one. */
export async function readAttributes(input: CommandInput, { settings }: Identity) {
  const given = pairs(input, 'attribute');
  const { userAttributes } = await settings.read();
  return given.length === 0
    ? undefined
    : Object.fromEntries(
        given.map(([name, entered]) => [
          name,
          entered === '' ? null : readAttribute(name, entered, userAttributes),
        ]),
      );
}

const withoutEmpty = (attributes: object) =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== null));

const passwordCommand: Command = {
  usage: 'users password <username>',
  summary: 'Set the password of a user. Unlocks the user and signs the user out everywhere.',
  options: {
    ...passwordOptions,
    link: 'Print a link with which the user chooses the password. Until then, nothing changes.',
  },
  notes: [passwordNote, 'A link is valid once and for one hour. Give it only to the user.'],
  example: 'alice --link',
  async run(input, { operators, operator, terminal, environment }) {
    const { userId, username } = await operators.users.find(input.positionals.username ?? '');
    if (input.options.link === true) {
      const { token } = await operators.users.issueResetLink(operator, userId);
      const link = `${authorizationServerUrl(environment)}/reset-password?token=${token}`;
      return { json: { link }, text: `Valid once, for one hour:\n${link}` };
    }
    const entered = await readPassword(input, terminal);
    const { user, password } = await operators.users.setPassword(operator, userId, entered);
    return {
      json: { user: shownUser(user), password },
      text: [`Changed the password of ${username}.`, ...generatedLines(password)].join('\n'),
    };
  },
};

/** Undefined: generate one. */
async function readPassword(
  { options }: CommandInput,
  terminal: Terminal,
): Promise<string | undefined> {
  if (options.generate === true) {
    return undefined;
  }
  const entered = await terminal.readSecret('Password');
  if (terminal.isInteractive && (await terminal.readSecret('Password again')) !== entered) {
    throw new UsageError('The two passwords differ.');
  }
  return entered;
}

/** Only a generated password is printed. */
const generatedLines = (password: string | undefined) =>
  password === undefined ? [] : [`Password (shown once): ${password}`];

export const userCommands: readonly Command[] = [add, list, passwordCommand, invite];
