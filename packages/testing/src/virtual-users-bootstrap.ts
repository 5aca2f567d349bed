const redirectUri = 'https://app.example/callback';
const secureKey = 'virtualUserKey0123456789';
const password = 'correct horse battery';

/** The bootstrap file of an organisation with so many people, all of whom use every grant of one application. */
export function manyUsers(count: number) {
  return {
    organizations: [{ id: 'org-1', name: 'One' }],
    clients: [
      {
        clientId: 'app',
        name: 'Application',
        orgId: 'org-1',
        secureKey,
        grantTypes: [
          ...['authorization_code', 'client_credentials', 'refresh_token', 'password', 'implicit'],
          'urn:ietf:params:oauth:grant-type:device_code',
        ],
        redirectUris: [redirectUri],
        scopes: ['device:read', 'device:write'],
      },
    ],
    users: Array.from({ length: count }, (_value, i) => ({
      ...userClient(i).user,
      name: `User ${i}`,
      orgId: 'org-1',
    })),
  };
}

/** One of them: an address of its own, too, as limits are by address. */
export function userClient(index: number) {
  return {
    client: { clientId: 'app', secureKey },
    redirectUri,
    user: { username: `user-${index}`, password },
    address: (round: number) =>
      `10.${index + 1}.${Math.floor(round / 250) % 250}.${(round % 250) + 1}`,
  };
}
