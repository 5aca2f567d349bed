/** What users sign in with, and what is signed in: passwords, links, locks, factors, sessions, grants. */
import {
  destroyGrant,
  generateSecureKey,
  hashPassword,
  passwordProblem,
  passwordRules,
  userSchema,
} from '@gatehouse/identity';
import { z } from 'zod';
import {
  assertOrganizationExists,
  type Dependencies,
  invalidInput,
  type Operator,
  OperatorError,
  orNotFound,
  parseInput,
} from './operator.ts';
import { findUserFor, toUserView, type UserView } from './users.ts';

export const invitation = z.strictObject({
  email: userSchema.shape.email.unwrap(),
  orgId: z.string().max(128),
});
export type Invitation = z.input<typeof invitation>;

export function createUserAccessActs(dependencies: Dependencies) {
  const { identity, record } = dependencies;
  const { revocations, signInLocks } = identity;

  return {
    ...createLinkActs(dependencies),
    ...createEndingActs(dependencies),

    /**
     * Sets the password, unlocks the user, and signs the user out everywhere.
     *
     * @param entered undefined: a generated one, which is returned and shown only once
     */
    async setPassword(operator: Operator, userId: string, entered?: string) {
      const { username } = await findUserFor(operator, userId, identity);
      const password = entered ?? generateSecureKey(20);
      const problem = passwordProblem(password, { username });
      if (problem !== undefined) {
        throw invalidInput('password', passwordRules[problem]);
      }
      const passwordHash = await hashPassword(password);
      const change = { passwordHash, mustChangePassword: undefined };
      const user = await revocations.user(userId, change);
      await signInLocks.unlock(user);
      await record(operator, { event: 'user_changed', userId, change: 'password_changed' });
      return { user: toUserView(user), password: entered === undefined ? password : undefined };
    },

    /** Lets the user sign in again after too many wrong passwords or codes. */
    async unlock(operator: Operator, userId: string): Promise<UserView> {
      const user = await findUserFor(operator, userId, identity);
      await signInLocks.unlock(user);
      await record(operator, { event: 'user_changed', userId, change: 'unlocked' });
      return toUserView(user);
    },

    /** Removes the second factors and passkeys, and signs the user out everywhere. */
    async resetFactors(operator: Operator, userId: string): Promise<UserView> {
      await findUserFor(operator, userId, identity);
      // A passkey signs in alone, so it goes first: nothing that it signed in to remains.
      await identity.factors.remove(userId);
      const user = await revocations.user(userId);
      await record(operator, { event: 'user_changed', userId, change: 'factors_removed' });
      return toUserView(user);
    },
  };
}

/** Links for a person, which are shown only once. */
function createLinkActs({ identity, now, record }: Dependencies) {
  return {
    /** @returns the token of `/reset-password?token=`: valid once, and for one hour */
    async issueResetLink(operator: Operator, userId: string): Promise<{ readonly token: string }> {
      await findUserFor(operator, userId, identity);
      const token = await identity.actionLinks.issue({ kind: 'reset', userId });
      if (token === undefined) {
        throw new OperatorError('conflict', 'The user is disabled. Enable the user first.');
      }
      await record(operator, { event: 'user_changed', userId, change: 'reset_link_issued' });
      return { token };
    },

    /**
     * @param isMailed whether the authorization server sends the link, too
     * @returns the token of `/create-account?token=`: valid once, and for one week
     */
    async invite(
      operator: Operator,
      input: Invitation,
      { isMailed = false }: { readonly isMailed?: boolean } = {},
    ): Promise<{ readonly token: string }> {
      const { email, orgId } = parseInput(invitation, input);
      await assertOrganizationExists(orgId, identity);
      const kind = 'invite' as const;
      const token = await identity.actionLinks.issue({ kind, orgId, email });
      if (token === undefined) {
        throw new OperatorError('conflict', 'A user already has this verified address.');
      }
      await (isMailed && identity.mails.add(orgId, { kind, orgId, email, token, at: now() }));
      await record(operator, { event: 'invitation_issued', organizationId: orgId });
      return { token };
    },

    /** Ends all links with which a person creates an account with this address. */
    async withdrawInvitation(operator: Operator, address: string): Promise<void> {
      const { email } = parseInput(invitation.pick({ email: true }), { email: address });
      await identity.actionLinks.endForAddress(email);
      await record(operator, { event: 'invitation_withdrawn' });
    },
  };
}

function createEndingActs({ identity, now, record }: Dependencies) {
  const { userSessions, logouts, store } = identity;
  return {
    /** Ends the session of one browser, with the access of the applications in it. */
    async endSession(operator: Operator, userId: string, sessionId: string) {
      const ended = await userSessions.end(userId, sessionId);
      const applications = orNotFound(ended, 'The session does not exist, or has ended.');
      await logouts.addForApplications(userId, applications);
      await record(operator, { event: 'sign_out', userId, everywhere: false });
      return { clientIds: applications.map(({ clientId }) => clientId) };
    },

    /** Ends the access of an application to a user, with all tokens under it. */
    async endGrants(operator: Operator, userId: string, clientId: string) {
      const grants = await userSessions.grants(userId);
      const grantIds = grants.filter((each) => each.clientId === clientId).map(({ id }) => id);
      if (grantIds.length === 0) {
        throw new OperatorError('not_found', 'The application has no access to this user.');
      }
      await Promise.all(grantIds.map((id) => destroyGrant(store, id, now())));
      await record(operator, { event: 'grant_revoked', userId, clientId, grantIds });
      return { grantIds };
    },
  };
}
