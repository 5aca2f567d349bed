import {
  type Identity,
  readAttribute,
  type SignInLock,
  userProfileSchema,
} from '@gatehouse/identity';
import type { NewUser, UserChange, UserView } from '@gatehouse/operators';
import {
  type Command,
  type CommandInput,
  pairs,
  text,
  UsageError,
} from '../command-line/command.ts';
import { formatTable, formatTime, formatUse, lines, rowsOf } from '../command-line/format.ts';
import { filterOptions, readFilter, readPages } from '../command-line/lists.ts';
import { createMemberOptions, readEnabled } from '../command-line/member-options.ts';
import { type Terminal, yesOption } from '../command-line/terminal.ts';
import { authorizationServerUrl } from '../open-identity-store.ts';
import { invite } from './invite.ts';

const profile = createMemberOptions(userProfileSchema.shape, {
  'name <name>': 'Display name. Default: the username.',
  'given-name <name>': 'Given name, for applications.',
  'family-name <name>': 'Family name, for applications.',
  'email <address>': 'Email address. An empty value removes it.',
  '[no-]email-verified': 'You confirmed that the address belongs to the user.',
  'role <role...>': 'Role in applications, as free text. Replaces all roles.',
});

const attributeOption = {
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
      text: lines(
        `Added the user ${username} with the id ${user.userId}.`,
        generatedLine(password),
      ),
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
async function readAttributes(input: CommandInput, { settings }: Identity) {
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
      text: lines(`Changed the password of ${username}.`, generatedLine(password)),
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
const generatedLine = (password: string | undefined) =>
  password && `Password (shown once): ${password}`;

const changed = createMemberOptions(userProfileSchema.shape, {
  ...profile.options,
  'username <name>': 'New username. Sessions and tokens stay valid.',
  'org <id>': 'Organization to move the user to. Signs the user out everywhere.',
});

const change: Command = {
  usage: 'users change <username>',
  summary: 'Change or move a user. Disable, enable or unlock the user.',
  options: {
    ...changed.allOptions,
    ...attributeOption,
    disable: 'Reject the user immediately, and sign the user out everywhere.',
    enable: 'Enable a disabled user.',
    unlock: 'Let the user sign in again after too many wrong passwords.',
    'reset-factors': 'Remove the second factors and passkeys, and sign the user out everywhere.',
    '[no-]must-change-password': 'Ask for a new password at the next sign-in.',
    ...yesOption,
  },
  notes: [
    'A new address is unverified unless you add --email-verified.',
    'If BOOTSTRAP_FILE defines the user, the next start of a server restores the members in the file. After a change of the username, it adds the former user again.',
  ],
  example: 'alice --add-role admin --email-verified',
  async run(input, { identity, operators, operator, confirm }) {
    const { users } = operators;
    const enabled = readEnabled(input);
    const isUnlocked = input.options.unlock === true;
    const isReset = input.options.resetFactors === true;
    const attributes = await readAttributes(input, identity);
    const mustChangePassword = input.options.mustChangePassword as boolean | undefined;
    const isProfile = changed.isNamed(input) || attributes !== undefined;
    const isChanged = isProfile || mustChangePassword !== undefined || enabled !== undefined;
    if (!isChanged && !isUnlocked && !isReset) {
      throw new UsageError('Set at least one option.', ['gatehouse users change --help']);
    }
    let user = await users.find(input.positionals.username ?? '');
    const { userId, username, orgId, version: ifVersion } = user;
    const { email, ...named } = changed.change(user, input);
    const emailChange = email === undefined ? {} : { email: email || null };
    const wanted = { ...named, ...emailChange, attributes, mustChangePassword, enabled };
    const { movesFrom, signsOut } = await users.previewChange(userId, wanted as UserChange);
    if (signsOut || isReset) {
      const moving = movesFrom ? `moves ${username} from ${orgId} to ${named.orgId} and ` : '';
      await confirm(`This ${moving}signs ${username} out everywhere. Continue?`);
    }
    if (isChanged) {
      user = await users.change(operator, userId, wanted as UserChange, { ifVersion });
    }
    if (isReset) {
      user = await users.resetFactors(operator, userId);
    }
    if (isUnlocked) {
      user = await users.unlock(operator, userId);
    }
    return {
      json: { user: shownUser(user) },
      text: lines(
        isProfile && `Changed the user ${username}.`,
        mustChangePassword && `${username} must choose a new password at the next sign-in.`,
        mustChangePassword === false && `${username} can keep the password.`,
        isReset && `${username} has no second factor or passkey, and is signed out everywhere.`,
        isUnlocked && `${username} can sign in again.`,
        enabled !== undefined && `${username} is ${enabled ? 'enabled' : 'disabled'}.`,
      ),
    };
  },
};

const show: Command = {
  usage: 'users show <username>',
  summary: 'Show a user: settings, locks, and the browsers and applications with access.',
  notes: ['To end all sessions, run gatehouse tokens revoke --user.'],
  example: 'alice',
  async run({ positionals: { username = '' } }, { operators }) {
    const { userId } = await operators.users.find(username);
    const read = await operators.users.read(userId);
    const { user, lastSignInAt, locks, factors, sessions, applications } = read;
    const { notBefore, ...members } = shownUser(user);
    const { app } = factors;
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
          ...(locks.length > 0 ? locks.map(describeLock) : ['no']).map((lock) => ['locked', lock]),
          ['authenticator app', app === undefined ? 'none' : `since ${formatTime(app.enrolledAt)}`],
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

export const userCommands: readonly Command[] = [add, list, passwordCommand, invite, change, show];
