import { type Identity, RejectedChangeError, type User } from '@gatehouse/identity';

/** @param name a username or user id */
export async function findUser(name: string, { users }: Identity): Promise<User> {
  const user = (await users.findByUsername(name)) ?? (await users.find(name));
  if (user === undefined) {
    throw new RejectedChangeError('The user does not exist. Run gatehouse users list.');
  }
  return user;
}

/** The JSON form of a user, without password hashes. */
export function describeUser(user: User) {
  const { userId, username, name, givenName, familyName, orgId, email, emailVerified } = user;
  const { roles, enabled, notBefore } = user;
  const profile = { userId, username, name, givenName, familyName, orgId, email, emailVerified };
  return { ...profile, roles, enabled, notBefore };
}
