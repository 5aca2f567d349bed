/** User accounts: find, add, change and remove them. user-access.ts has what they sign in with. */
import {
  changedEmail,
  generateSecureKey,
  hashPassword,
  type Identity,
  isOperator,
  nextNotBefore,
  type User,
  userProfileSchema,
  userSchema,
} from '@gatehouse/identity';
import { z } from 'zod';
import {
  assertOrganizationExists,
  assertVersion,
  type Condition,
  type Dependencies,
  forbiddenToMachines,
  listMembers,
  type memberFilter,
  type Operator,
  OperatorError,
  orNotFound,
  type Page,
  parseInput,
  version,
  withChange,
  withMembers,
  withVersion,
} from './operator.ts';

const attribute = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);

/** A user, without password and factors. Times are epoch seconds. */
export const userView = z.object({
  userId: z.string(),
  username: z.string(),
  name: z.string(),
  givenName: z.string().optional(),
  familyName: z.string().optional(),
  orgId: z.string(),
  email: z.string().optional(),
  emailVerified: z.boolean(),
  roles: z.array(z.string()).readonly(),
  attributes: z.record(z.string(), attribute),
  enabled: z.boolean(),
  /** Credentials that were issued at this time or earlier are revoked. */
  notBefore: z.number(),
  version,
});
export type UserView = Readonly<z.output<typeof userView>>;

export const listedUser = userView.extend({ lastSignInAt: z.number().optional() });
export type ListedUser = Readonly<z.output<typeof listedUser>>;

/** Without a password, the user gets a generated one. */
export const newUser = userSchema;
export type NewUser = Omit<z.input<typeof userSchema>, 'password'> & {
  readonly password?: string | undefined;
};

const { username, name, orgId, roles, emailVerified, ...removable } = userProfileSchema.shape;

/** Members that are absent stay. Null removes a member or an attribute. */
export const userChange = z.strictObject({
  ...{ username, name, orgId, roles, emailVerified },
  givenName: removable.givenName.nullable(),
  familyName: removable.familyName.nullable(),
  email: removable.email.nullable(),
  attributes: z.record(z.string(), attribute.nullable()).optional(),
  enabled: z.boolean().optional(),
  /** At the next sign-in with the password. */
  mustChangePassword: z.boolean().optional(),
});
export type UserChange = z.input<typeof userChange>;

/** The schema has no secret, and omits every other member. */
export const toUserView = (user: User): UserView =>
  withVersion(unversioned.parse({ ...user, attributes: user.attributes ?? {} }));

const unversioned = userView.omit({ version: true });

/** @throws OperatorError if the user does not exist */
export const findUser = async (userId: string, { users }: Identity): Promise<User> =>
  orNotFound(await users.find(userId), `The user ${userId} does not exist.`);

/** @throws OperatorError if the user does not exist, ApiError if a machine must not change it */
export async function findUserFor(
  operator: Operator,
  userId: string,
  identity: Identity,
): Promise<User> {
  const user = await findUser(userId, identity);
  await assertMayGive(operator, user.roles, identity);
  return user;
}

/** @throws ApiError `access_denied` if a machine would make or change an operator */
async function assertMayGive(
  { isMachine }: Operator,
  roles: readonly string[] | undefined,
  { settings }: Identity,
): Promise<void> {
  if (isMachine && isOperator(roles ?? [], await settings.read())) {
    throw forbiddenToMachines();
  }
}

export function createUserActs(dependencies: Dependencies) {
  const { identity, record } = dependencies;
  const { users, lastUse } = identity;

  return {
    ...createUserChanges(dependencies),

    /** In the order of user ids, or of names. */
    list: (filter: z.input<typeof memberFilter> = {}): Promise<Page<ListedUser>> =>
      listMembers(filter, z.string(), users.page, async (user: User) => ({
        ...toUserView(user),
        lastSignInAt: await lastUse.ofUser(user.userId),
      })),

    /** @param entered a username, a verified address, or a user id */
    async find(entered: string): Promise<UserView> {
      const user = (await users.findByLogin(entered)) ?? (await findUser(entered, identity));
      return toUserView(user);
    },

    /** A user, with everything that gives access to the account. */
    async read(userId: string) {
      const user = await findUser(userId, identity);
      return {
        user: toUserView(user),
        lastSignInAt: await lastUse.ofUser(userId),
        locks: await identity.signInLocks.list(user),
        factors: await identity.factors.describe(userId),
        sessions: await identity.userSessions.sessions(userId),
        applications: await identity.userSessions.grants(userId),
      };
    },

    /** @returns the user, and the password if it was generated, which is shown only once */
    async create(operator: Operator, input: NewUser) {
      const generated = input.password === undefined ? generateSecureKey(20) : undefined;
      const entered = { ...input, password: input.password ?? generated };
      const { password, ...definition } = parseInput(newUser, entered);
      if ((await users.findByUsername(definition.username)) !== undefined) {
        throw new OperatorError('duplicate_key', 'A user with this username already exists.');
      }
      await assertOrganizationExists(definition.orgId, identity);
      await assertMayGive(operator, definition.roles, identity);
      const user = await users.add({
        ...definition,
        ...changedEmail(undefined, definition),
        roles: definition.roles ?? [],
        passwordHash: await hashPassword(password),
      });
      await record(operator, { event: 'user_changed', userId: user.userId, change: 'added' });
      return { user: toUserView(user), password: generated };
    },
  };
}

/** Changes and removals, with what they take away. */
function createUserChanges({ identity, now, record }: Dependencies) {
  const { logouts } = identity;

  async function previewChange(userId: string, input: UserChange) {
    const change = parseInput(userChange, input);
    const user = await findUser(userId, identity);
    const after = changedUser(user, change);
    const movesFrom = after.orgId === user.orgId ? undefined : user.orgId;
    await (movesFrom && assertOrganizationExists(after.orgId, identity));
    return { movesFrom, signsOut: change.enabled === false || movesFrom !== undefined };
  }

  async function previewRemoval(userId: string) {
    const user = await findUser(userId, identity);
    const sessions = await identity.userSessions.sessions(userId);
    const applications = await identity.userSessions.grants(userId);
    return {
      ...{ userId, username: user.username, orgId: user.orgId },
      ...{ sessions: sessions.length, applications: applications.length },
    };
  }

  return {
    previewChange,

    /** Changes the profile, moves, disables or enables. Disabling and moving end all sessions. */
    async change(
      operator: Operator,
      userId: string,
      input: UserChange,
      condition: Condition = {},
    ): Promise<UserView> {
      const { signsOut } = await previewChange(userId, input);
      const change = parseInput(userChange, input);
      const { enabled } = change;
      await assertMayGive(operator, change.roles, identity);
      assertVersion(toUserView(await findUserFor(operator, userId, identity)), condition);
      // Reads the sessions, so it comes before they end.
      await (signsOut && logouts.addForUser(userId));
      // Enabling the user again must not restore old sessions and tokens.
      const state = enabled === false ? { notBefore: nextNotBefore(now()) } : {};
      const { after, events } = await identity.auditedChanges.changeUser(userId, (current) => {
        assertVersion(toUserView(current), condition);
        return { ...changedUser(current, change), ...state };
      });
      await record(operator, ...events);
      return toUserView(after);
    },

    previewRemoval,

    /** Removes the user, with every session and token. The audit trail keeps the id, but no name. */
    async remove(operator: Operator, userId: string, condition: Condition = {}) {
      const removed = await previewRemoval(userId);
      const user = await findUserFor(operator, userId, identity);
      // The removal tells applications before it decides, so an outdated version ends here.
      assertVersion(toUserView(user), condition);
      await identity.removals.user(
        user,
        (event) => record(operator, event),
        (current) => assertVersion(toUserView(current), condition),
      );
      return removed;
    },
  };
}

/** @throws OperatorError if the user would have no address to verify */
function changedUser(user: User, change: z.output<typeof userChange>): User {
  const { email, emailVerified: isVerified, attributes, mustChangePassword, ...others } = change;
  const isRemoved = email === null;
  if (isVerified === true && (isRemoved || !(email ?? user.email))) {
    throw new OperatorError('conflict', 'Nothing was changed. The user has no email address.');
  }
  const changed = attributes && { attributes: withMembers(user.attributes, attributes) };
  return {
    ...withChange(user, others),
    ...(changed && parseInput(userProfileSchema, changed)),
    ...(mustChangePassword === undefined
      ? {}
      : { mustChangePassword: mustChangePassword || undefined }),
    ...(isRemoved
      ? { email: undefined, emailVerified: false }
      : changedEmail(user, { email: email ?? undefined, emailVerified: isVerified })),
  } as User;
}
