const redirectUri = 'https://app.example/callback';
const secureKey = 'virtualUserKey0123456789';
const password = 'correct horse battery';

/**
 * The bootstrap file of an organization with the given number of users. Each user has a separate
 * application that uses every grant, because limits are also by client.
 */
export function manyUsers(count: number) {
  const everybody = Array.from({ length: count }, (_value, i) => userClient(i));
  return {
    organizations: [{ id: 'org-1', name: 'One' }],
    clients: everybody.map(({ client }) => ({
      ...client,
      name: client.clientId,
      orgId: 'org-1',
      grantTypes: [
        'authorization_code',
        'client_credentials',
        'refresh_token',
        'password',
        'implicit',
        'urn:ietf:params:oauth:grant-type:device_code',
      ],
      redirectUris: [redirectUri],
      scopes: ['device:read', 'device:write'],
    })),
    users: everybody.map(({ user }) => ({ ...user, name: user.username, orgId: 'org-1' })),
  };
}

/** One of these users, with separate addresses, because limits are also by address. */
export function userClient(index: number) {
  return {
    client: { clientId: `app-${index}`, secureKey },
    redirectUri,
    user: { username: `user-${index}`, password },
    address: (round: number) =>
      `10.${index + 1}.${Math.floor(round / 250) % 250}.${(round % 250) + 1}`,
  };
}
