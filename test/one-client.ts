/** The content of a bootstrap file with one machine client, whose id is `one`. */
export function oneClient(secureKey: string, more: object = {}) {
  return {
    organizations: [{ id: 'org-1', name: 'One' }],
    clients: [
      {
        clientId: 'one',
        name: 'One',
        orgId: 'org-1',
        secureKey,
        grantTypes: ['client_credentials'],
        scopes: ['device:read'],
        ...more,
      },
    ],
  };
}
