import { userProfileSchema } from '@gatehouse/identity';
import type { UserChange } from '@gatehouse/operators';
import { type Command, UsageError } from '../command-line/command.ts';
import { createMemberOptions, readEnabled } from '../command-line/member-options.ts';
import { yesOption } from '../command-line/terminal.ts';
import { attributeOption, profile, readAttributes, shownUser } from './users.ts';

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
  async run(input, { identity, operators, operator, confirm }) {
    const { users } = operators;
    const enabled = readEnabled(input);
    const isUnlocked = input.options.unlock === true;
    const isReset = input.options.resetFactors === true;
    const attributes = await readAttributes(input, identity);
    const mustChangePassword = input.options.mustChangePassword as boolean | undefined;
    const isProfile = members.isNamed(input) || attributes !== undefined;
    const isChanged = isProfile || mustChangePassword !== undefined || enabled !== undefined;
    if (!isChanged && !isUnlocked && !isReset) {
      throw new UsageError('Set at least one option.', ['gatehouse users change --help']);
    }
    let user = await users.find(input.positionals.username ?? '');
    const { userId, username, orgId, version: ifVersion } = user;
    const { email, ...named } = members.change(user, input);
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
    return { json: { user: shownUser(user) }, text: lines.join('\n') };
  },
};
