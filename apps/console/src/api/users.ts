/** Users, and what gives access to their accounts. */
import {
  invitation,
  listedUser,
  memberFilter,
  newUser,
  parseInput,
  type UserView,
  userChange,
  userView,
} from '@gatehouse/operators';
import { z } from 'zod';
import { operation, pageOf, seconds, secret } from './operation.ts';

const user = userView.meta({ id: 'User' });

const withPassword = z.object({ user, password: secret('The generated password.').optional() });
const link = z.object({ token: secret('The token of the link.') });

const removal = z.object({
  ...{ userId: z.string(), username: z.string(), orgId: z.string() },
  ...{ sessions: z.number(), applications: z.number() },
});

const details = z.object({
  ...userView.shape,
  lastSignInAt: seconds.optional(),
  locks: z.array(z.looseObject({})).describe('Where sign-ins are blocked, and until when.'),
  factors: z.object({
    app: z.object({ enrolledAt: seconds, lastUsedAt: seconds.optional() }).optional(),
    recoveryCodes: z.number().describe('How many are left.'),
    passkeys: z.array(z.looseObject({ id: z.string(), name: z.string() })),
  }),
  sessions: z.array(z.looseObject({ id: z.string() })),
  applications: z.array(z.looseObject({ id: z.string(), clientId: z.string() })),
});

const password = z.strictObject({
  password: z.string().optional().describe('Without it, the user gets a generated one.'),
});
const creation = z.strictObject({ ...newUser.shape, ...password.shape });
const invited = invitation.extend({
  isMailed: z.boolean().default(false).describe('The authorization server sends the link.'),
});
const address = invitation.pick({ email: true });
const name = z.strictObject({
  name: z.string().min(1).max(320).describe('A username, a verified address, or a user id.'),
});

export const userOperations = [
  operation('users.list', 'GET /users', {
    summary: 'List users',
    query: memberFilter,
    reply: pageOf(listedUser.meta({ id: 'ListedUser' })),
    run: ({ operators, query }) => operators.users.list(query),
  }),
  operation('users.find', 'POST /users/find', {
    summary: 'Find a user by username or verified address',
    isRead: true,
    description: 'Names and addresses of people are in the body, so that no log contains them.',
    body: name,
    example: { name: 'paula@example.com' },
    reply: user,
    run: ({ operators, body }) => operators.users.find(parseInput(name, body).name),
  }),
  operation('users.create', 'POST /users', {
    summary: 'Create a user',
    body: creation,
    example: { username: 'paula', name: 'Paula Park', orgId: 'acme' },
    reply: withPassword,
    location: ({ user: { userId } }: { readonly user: UserView }) => `/users/${userId}`,
    run: ({ operators, operator, body }) => operators.users.create(operator, body),
  }),
  operation('users.read', 'GET /users/{userId}', {
    summary: 'Read a user, with locks, factors, sessions and applications',
    reply: details,
    async run({ operators, path }) {
      const { user: view, factors, ...access } = await operators.users.read(path.userId);
      const passkeys = factors.passkeys.map(
        ({ publicKey: _key, counter: _uses, ...shown }) => shown,
      );
      return { ...view, ...access, factors: { ...factors, passkeys } };
    },
  }),
  operation('users.change', 'PATCH /users/{userId}', {
    summary: 'Change a user',
    description: 'Disabling and moving a user end all sessions.',
    body: userChange,
    example: { name: 'Paula N.', attributes: { plant: null } },
    reply: user,
    run: ({ operators, operator, path, body, condition }) =>
      operators.users.change(operator, path.userId, body, condition),
  }),
  operation('users.preview-change', 'POST /users/{userId}/preview', {
    summary: 'Preview a change of a user',
    isRead: true,
    body: userChange,
    example: { enabled: false },
    reply: z.object({ movesFrom: z.string().optional(), signsOut: z.boolean() }),
    run: ({ operators, path, body }) => operators.users.previewChange(path.userId, body),
  }),
  operation('users.preview-removal', 'GET /users/{userId}/removal', {
    summary: 'Preview the removal of a user',
    reply: removal,
    run: ({ operators, path }) => operators.users.previewRemoval(path.userId),
  }),
  operation('users.remove', 'DELETE /users/{userId}', {
    summary: 'Remove a user, with every session and token',
    reply: removal,
    run: ({ operators, operator, path, condition }) =>
      operators.users.remove(operator, path.userId, condition),
  }),
  operation('users.set-password', 'POST /users/{userId}/password', {
    summary: 'Set the password, unlock the user, and sign the user out everywhere',
    body: password,
    example: {},
    reply: withPassword,
    run: ({ operators, operator, path, body }) =>
      operators.users.setPassword(operator, path.userId, parseInput(password, body).password),
  }),
  operation('users.issue-reset-link', 'POST /users/{userId}/reset-link', {
    summary: 'Issue a link with which the user chooses a password',
    description: 'Append `/reset-password?token=TOKEN` to the address of the authorization server.',
    reply: link,
    run: ({ operators, operator, path }) => operators.users.issueResetLink(operator, path.userId),
  }),
  operation('users.unlock', 'POST /users/{userId}/unlock', {
    summary: 'Let a user sign in again after too many wrong passwords or codes',
    isPlain: true,
    reply: user,
    run: ({ operators, operator, path }) => operators.users.unlock(operator, path.userId),
  }),
  operation('users.reset-factors', 'DELETE /users/{userId}/factors', {
    summary: 'Remove second factors and passkeys, and sign the user out everywhere',
    isPlain: true,
    reply: user,
    run: ({ operators, operator, path }) => operators.users.resetFactors(operator, path.userId),
  }),
  operation('users.end-session', 'DELETE /users/{userId}/sessions/{sessionId}', {
    summary: 'End the session of a browser',
    isPlain: true,
    reply: z.object({ clientIds: z.array(z.string()) }),
    run: ({ operators, operator, path }) =>
      operators.users.endSession(operator, path.userId, path.sessionId),
  }),
  operation('users.end-grants', 'DELETE /users/{userId}/applications/{clientId}', {
    summary: 'End the access of an application to a user',
    isPlain: true,
    reply: z.object({ grantIds: z.array(z.string()) }),
    run: ({ operators, operator, path }) =>
      operators.users.endGrants(operator, path.userId, path.clientId),
  }),
  operation('invitations.create', 'POST /invitations', {
    summary: 'Invite a person to an organization',
    description: 'Append `/create-account?token=TOKEN` to the address of the authorization server.',
    body: invited,
    example: { email: 'quentin@example.com', orgId: 'acme' },
    reply: link,
    run({ operators, operator, body }) {
      const { isMailed, ...person } = parseInput(invited, body);
      return operators.users.invite(operator, person, { isMailed });
    },
  }),
  operation('invitations.withdraw', 'POST /invitations/withdraw', {
    summary: 'End the links of the invitations of an address',
    isPlain: true,
    body: address,
    example: { email: 'quentin@example.com' },
    reply: z.object({}),
    async run({ operators, operator, body }) {
      await operators.users.withdrawInvitation(operator, parseInput(address, body).email);
      return {};
    },
  }),
];
