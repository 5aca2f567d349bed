import {
  generateSecureKey,
  hashPassword,
  nextNotBefore,
  passwordProblem,
  passwordRules,
  RejectedChangeError,
  userSchema,
} from '@gatehouse/identity';
import {
  type Command,
  type CommandInput,
  flag,
  type Option,
  text,
  UsageError,
} from '../command-line/command.ts';
import type { Terminal } from '../command-line/terminal.ts';
import { assertOrganizationExists, validate } from '../command-line/validate.ts';
import { describeUser, findUser } from './find-user.ts';
import { profileFromOptions, userOptions } from './user-options.ts';

const passwordOptions: Readonly<Record<string, Option>> = {
  generate: { type: 'boolean', description: 'Generate a password and print it once.' },
};
const passwordNote = 'Enter the password at the prompt or on standard input.';

async function readPassword(
  input: CommandInput,
  terminal: Terminal,
): Promise<{ readonly password: string; readonly generated: boolean }> {
  if (flag(input.options.generate) === true) {
    return { password: generateSecureKey(20), generated: true };
  }
  const password = await terminal.readSecret('Password');
  if (terminal.isInteractive && (await terminal.readSecret('Password again')) !== password) {
    throw new UsageError('The two passwords differ.');
  }
  return { password, generated: false };
}

/** @throws UsageError that explains the rule that the password breaks */
function assertPassword(password: string, username: string): void {
  const problem = passwordProblem(password, { username });
  if (problem !== undefined) {
    throw new UsageError('Invalid input:', [`password: ${passwordRules[problem]}`]);
  }
}

/** Only a generated password is printed. */
function shownPassword({ password, generated }: { password: string; generated: boolean }) {
  return generated
    ? { json: { password }, lines: [`Password (shown once): ${password}`] }
    : { json: {}, lines: [] };
}

const add: Command = {
  name: 'users add',
  summary: 'Add a user.',
  positionals: ['username'],
  options: {
    name: { type: 'string', description: 'Display name. Default: the username.' },
    org: { type: 'string', description: 'Organization of the user.' },
    email: userOptions.email,
    'email-verified': userOptions['email-verified'],
    role: userOptions.role,
    ...passwordOptions,
  },
  notes: [passwordNote],
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
      ...profileFromOptions(input),
    });
    await assertOrganizationExists(definition.orgId, identity);
    const user = await identity.users.ensure(definition);
    await audit({ event: 'user_changed', userId: user.userId, change: 'added' });
    const shown = shownPassword(secret);
    return {
      json: { user: describeUser(user), ...shown.json },
      text: [`Added the user ${username} with the id ${user.userId}.`, ...shown.lines].join('\n'),
    };
  },
};

const password: Command = {
  name: 'users password',
  summary: 'Set the password of a user. Unlocks the user and signs the user out everywhere.',
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
    await identity.signInLocks.unlock(user);
    await audit({ event: 'user_changed', userId, change: 'password_changed' });
    const shown = shownPassword(secret);
    return {
      json: { user: describeUser(user), ...shown.json },
      text: [`Changed the password of ${existing.username}.`, ...shown.lines].join('\n'),
    };
  },
};

export const userPasswordCommands: readonly Command[] = [add, password];
