import {
  changedEmail,
  nextNotBefore,
  RejectedChangeError,
  userProfileSchema,
} from '@gatehouse/identity';
import { type Command, texts, UsageError } from '../command-line/command.ts';
import { formatTable } from '../command-line/table.ts';
import { validate } from '../command-line/validate.ts';
import { assertConfirmed, yesOption } from './assert-confirmed.ts';
import { changedList } from './changed-list.ts';
import { describeUser, findUser } from './find-user.ts';
import { userAccessCommands } from './user-access.ts';
import { profileFromOptions, userOptions } from './user-options.ts';
import { userPasswordCommands } from './user-passwords.ts';

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
      json: { users: users.map(describeUser) },
      text: formatTable([['USER', 'ORGANIZATION', 'STATE', 'ID', 'NAME'], ...rows]),
    };
  },
};

const change: Command = {
  name: 'users change',
  summary: 'Change the name, the email address or the roles of a user.',
  positionals: ['username'],
  options: userOptions,
  notes: [
    'A new address is unverified unless you add --email-verified.',
    'If BOOTSTRAP_FILE defines the user, the next start of a server restores the members in the file.',
  ],
  async run(input, { identity, audit }) {
    const { email, ...wanted } = profileFromOptions(input);
    const isRemoved = email === '';
    const profile = validate(userProfileSchema, {
      ...wanted,
      ...(email === undefined || isRemoved ? {} : { email }),
    });
    const [added, removed] = [
      texts(input.options['add-role']),
      texts(input.options['remove-role']),
    ];
    if ([email, added, removed, ...Object.values(wanted)].every((each) => each === undefined)) {
      throw new UsageError('Set at least one option.', ['gatehouse users change --help']);
    }
    const { userId } = await findUser(input.positionals.username ?? '', identity);
    const user = await identity.users.update(userId, (current) => {
      const roles = changedList(profile.roles ?? current.roles, added, removed);
      validate(userProfileSchema, { roles });
      if (profile.emailVerified === true && (isRemoved || !(profile.email ?? current.email))) {
        throw new RejectedChangeError('Nothing was changed. The user has no email address.');
      }
      return {
        ...current,
        name: profile.name ?? current.name,
        givenName: profile.givenName ?? current.givenName,
        familyName: profile.familyName ?? current.familyName,
        ...(isRemoved
          ? { email: undefined, emailVerified: false }
          : changedEmail(current, profile)),
        roles,
      };
    });
    await audit({ event: 'user_changed', userId, change: 'changed' });
    return { json: { user: describeUser(user) }, text: `Changed the user ${user.username}.` };
  },
};

const signOut: Command = {
  name: 'users sign-out',
  summary: 'Sign a user out everywhere. Revokes every session and token.',
  positionals: ['username'],
  options: yesOption,
  async run(input, context) {
    const { identity, audit } = context;
    const { userId, username } = await findUser(input.positionals.username ?? '', identity);
    await assertConfirmed(input, context, `This signs ${username} out everywhere. Continue?`);
    const user = await identity.revocations.user(userId);
    await audit({ event: 'user_changed', userId, change: 'revoked' });
    return {
      json: { user: describeUser(user) },
      text: `${user.username} is signed out everywhere.`,
    };
  },
};

function toggle(verb: 'enable' | 'disable', summary: string): Command {
  const enabled = verb === 'enable';
  return {
    name: `users ${verb}`,
    summary,
    positionals: ['username'],
    ...(enabled ? {} : { options: yesOption }),
    async run(input, context) {
      const { identity, audit, now } = context;
      const { userId, username } = await findUser(input.positionals.username ?? '', identity);
      if (!enabled) {
        await assertConfirmed(input, context, `This signs ${username} out everywhere. Continue?`);
      }
      const user = await identity.users.update(userId, (current) => ({
        ...current,
        enabled,
        // Enabling the user again must not restore old sessions and tokens.
        notBefore: enabled ? current.notBefore : nextNotBefore(now()),
      }));
      await audit({ event: 'user_changed', userId, change: `${verb}d` });
      return { json: { user: describeUser(user) }, text: `${user.username} is ${verb}d.` };
    },
  };
}

export const userCommands: readonly Command[] = [
  ...userPasswordCommands,
  list,
  ...userAccessCommands,
  change,
  toggle('disable', 'Reject a user immediately and sign the user out everywhere.'),
  toggle('enable', 'Enable a disabled user.'),
  signOut,
];
