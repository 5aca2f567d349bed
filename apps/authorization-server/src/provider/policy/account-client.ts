import type { Client, Identity } from '@gatehouse/identity';

export const ACCOUNT_CLIENT_ID = 'gatehouse:account';
export const SIGNED_IN_PATH = '/account/signed-in';

/**
 * The account page is a built-in client of this server. Users sign in to it through the ordinary
 * flow, with its throttle and session, and an operator cannot disable or delete it.
 */
export function withAccountClient(identity: Identity, issuer: string): Identity {
  const { clients, findLiveHolder } = identity;
  const account: Client = {
    clientId: ACCOUNT_CLIENT_ID,
    name: 'Account',
    orgId: '',
    signatureAlgorithm: 'SHA-256',
    grantTypes: ['authorization_code'],
    redirectUris: [issuer + SIGNED_IN_PATH],
    postLogoutRedirectUris: [],
    scopes: ['openid'],
    applicationType: 'web',
    public: true,
    firstParty: true,
    resourceServer: false,
    ownOrganizationOnly: false,
    corsOrigins: [],
    ipAllowList: [],
    enabled: true,
    notBefore: 0,
    sealedSecureKeys: [],
    secureKeyCreatedAt: {},
    removedKeyIds: [],
    keptKeyIds: [],
  };
  return {
    ...identity,
    clients: {
      ...clients,
      find: async (clientId) => (clientId === ACCOUNT_CLIENT_ID ? account : clients.find(clientId)),
    },
    // It has no record that could be revoked, so its credentials live as long as their user.
    findLiveHolder: ({ clientId, ...credential }) =>
      findLiveHolder(clientId === ACCOUNT_CLIENT_ID ? credential : { ...credential, clientId }),
  };
}
