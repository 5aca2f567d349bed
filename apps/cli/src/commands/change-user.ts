import {
  changedEmail,
  RejectedChangeError,
  type User,
  userProfileSchema,
} from '@gatehouse/identity';
import { type Command, type CommandInput, UsageError } from '../command-line/command.ts';
import {
  assertOrganizationExists,
  createMemberOptions,
  readEnabled,
  validate,
} from '../command-line/member-options.ts';
import { yesOption } from '../command-line/terminal.ts';
import {
  attributeOption,
  describeUser,
  findUser,
  profile,
  readAttributes,
  withoutEmpty,
} from './users.ts';

const members = createMemberOptions(userProfileSchema.shape, {
  ...profile.options,
  'username <name>': 'New username. Sessions and tokens stay valid.',
  'org <id>': 'Organization to move the user to. Signs the user out everywhere.',
});

export const changeUserCommand: Command = {
  usage: 'users change <username>',
  summary: 'Change or move a user. Disable, enable or unlock the user.',
  options: {
    ...members.allOptions,
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
  async run(input, { identity, audit, confirm }) {
    const enabled = readEnabled(input);
    const isUnlocked = input.options.unlock === true;
    const isReset = input.options.resetFactors === true;
    const attributes = await readAttributes(input, identity);
    const { mustChangePassword } = input.options;
    const isProfile = members.isNamed(input) || attributes !== undefined;
    const isChanged = isProfile || mustChangePassword !== undefined;
    if (!isChanged && enabled === undefined && !isUnlocked && !isReset) {
      throw new UsageError('Set at least one option.', ['gatehouse users change --help']);
    }
    let user = await findUser(input.positionals.username ?? '', identity);
    const { userId, username } = user;
    // Reports invalid options before the command asks.
    const { orgId } = isChanged ? changedProfile(user, input, attributes) : user;
    const isMoved = orgId !== user.orgId;
    if (isMoved) {
      await assertOrganizationExists(orgId, identity);
    }
    if (enabled === false || isMoved || isReset) {
      const moving = isMoved ? `moves ${username} from ${user.orgId} to ${orgId} and ` : '';
      await confirm(`This ${moving}signs ${username} out everywhere. Continue?`);
    }
    if (isMoved) {
      await identity.logouts.addForUser(userId);
    }
    if (isChanged) {
      let before = user;
      user = await identity.users.update(userId, (current) => {
        before = current;
        return changedProfile(current, input, attributes);
      });
      const changes = await identity.auditedChanges.ofUser(before, user);
      await audit({ event: 'user_changed', userId, change: 'changed', ...changes });
    }
    if (isReset) {
      // A passkey signs in alone, so it goes first: nothing that it signed in to remains.
      await identity.factors.remove(userId);
      user = await identity.revocations.user(userId);
      await audit({ event: 'user_changed', userId, change: 'factors_removed' });
    }
    if (isUnlocked) {
      await identity.signInLocks.unlock(user);
      await audit({ event: 'user_changed', userId, change: 'unlocked' });
    }
    if (enabled !== undefined) {
      // Enabling the user again must not restore old sessions and tokens.
      user = enabled
        ? await identity.users.update(userId, (current) => ({ ...current, enabled }))
        : await identity.revocations.user(userId, { enabled });
      await audit({ event: 'user_changed', userId, change: enabled ? 'enabled' : 'disabled' });
    }
    const lines = [
      ...(isProfile ? [`Changed the user ${username}.`] : []),
      ...(mustChangePassword === true
        ? [`${username} must choose a new password at the next sign-in.`]
        : []),
      ...(mustChangePassword === false ? [`${username} can keep the password.`] : []),
      ...(isReset
        ? [`${username} has no second factor or passkey, and is signed out everywhere.`]
        : []),
      ...(isUnlocked ? [`${username} can sign in again.`] : []),
      ...(enabled === undefined ? [] : [`${username} is ${enabled ? 'enabled' : 'disabled'}.`]),
    ];
    return { json: { user: describeUser(user) }, text: lines.join('\n') };
  },
};

/**
 * The user after the command.
 *
 * @throws UsageError if the profile is invalid
 */
function changedProfile(user: User, input: CommandInput, attributes: User['attributes']): User {
  const { email, ...others } = members.change({ roles: user.roles }, input);
  const { mustChangePassword } = input.options;
  const isRemoved = email === '';
  const wanted = validate(userProfileSchema, { ...others, ...(email ? { email } : {}) });
  if (wanted.emailVerified === true && (isRemoved || !(wanted.email ?? user.email))) {
    throw new RejectedChangeError('Nothing was changed. The user has no email address.');
  }
  return {
    ...user,
    ...wanted,
    username: wanted.username ?? user.username,
    name: wanted.name ?? user.name,
    orgId: wanted.orgId ?? user.orgId,
    roles: wanted.roles ?? user.roles,
    ...(mustChangePassword === undefined
      ? {}
      : { mustChangePassword: mustChangePassword === true || undefined }),
    attributes: withoutEmpty({ ...user.attributes, ...attributes }),
    ...(isRemoved ? { email: undefined, emailVerified: false } : changedEmail(user, wanted)),
  };
}
