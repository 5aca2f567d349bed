import { hash, randomBytes } from 'node:crypto';
import type { Client, Identity } from '@gatehouse/identity';
import { providerRoutes } from '../../http/provider-routes.ts';

export const ACCOUNT_CLIENT_ID = 'gatehouse:account';
export const SIGNED_IN_PATH = '/account/signed-in';

/**
 * The account page as a client of this server: it signs people in through the ordinary flow, throttle and session
 * included. It is built in, so that there is nothing to register, to disable or to lose.
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
    // It has no record that could be revoked: what it was given lives as long as its user.
    findLiveHolder: ({ clientId, ...credential }) =>
      findLiveHolder(clientId === ACCOUNT_CLIENT_ID ? credential : { ...credential, clientId }),
  };
}

/**
 * Where the account page sends somebody who is not signed in. What counts afterwards is the session; the code is
 * never redeemed, and its verifier is thrown away here, so that nobody can (RFC 7636).
 */
export function accountSignInAddress(issuer: string): string {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: ACCOUNT_CLIENT_ID,
    redirect_uri: issuer + SIGNED_IN_PATH,
    scope: 'openid',
    code_challenge: hash('sha256', verifier, 'base64url'),
    code_challenge_method: 'S256',
  });
  return `${providerRoutes.authorization}?${query}`;
}
