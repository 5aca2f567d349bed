import type { User } from '@gatehouse/identity';

/** The claims of each scope. docs/decisions/11-scopes-and-claims.md explains the choice. */
export const claimsOfScopes = {
  openid: ['sub'],
  profile: ['name', 'given_name', 'family_name', 'preferred_username', 'updated_at'],
  email: ['email', 'email_verified'],
  groups: ['groups', 'roles', 'org'],
};

/** All claims of a user. The library selects those of the granted scopes. */
export function claimsOfUser(user: User) {
  const { userId, name, username, email, emailVerified, roles, orgId } = user;
  return {
    sub: userId,
    name,
    given_name: user.givenName,
    family_name: user.familyName,
    preferred_username: username,
    updated_at: user.updatedAt,
    ...(email === undefined ? {} : { email, email_verified: emailVerified }),
    groups: roles,
    roles,
    org: orgId,
  };
}
