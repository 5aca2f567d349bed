import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '@gatehouse/store';
import type { Client } from './clients/client.ts';
import { clientRecordKey as clientKey } from './clients/client-keys.ts';
import { accessTokenKey, type CredentialHash } from './secrets/credential-keys.ts';
import type { AccessTokenVerifier } from './tokens/access-tokens.ts';

/**
 * `token`: the token is deleted. `client`: the client is disabled, and verifiers cache its record.
 */
export const canaryKinds = ['token', 'client'] as const;

export type CanaryKind = (typeof canaryKinds)[number];

export interface RevocationCanary {
  /**
   * Stores a token, waits until it is accepted, revokes it like another process, and waits until it
   * is rejected.
   *
   * @returns seconds from the revocation to the first rejection
   * @throws Error if the token was never accepted
   * @throws StoreUnavailableError
   */
  measure(kind: CanaryKind): Promise<number>;
}

const LIFETIME_SECONDS = 60;
const POLL_MILLISECONDS = 5;
/** The not-before of the installation can be one second in the future. */
const ACCEPTED_WITHIN_MILLISECONDS = 3000;
const MAXIMUM_MEASUREMENT_MILLISECONDS = 10_000;

/**
 * A canary is a client without scopes, grant types or keys, and a token that only this process
 * knows. The token has no scope, so it grants no access. Both expire and appear in no list.
 */
export function createRevocationCanary(dependencies: {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
  /** The verifier that requests use. */
  readonly verify: AccessTokenVerifier;
  readonly now: () => number;
}): RevocationCanary {
  const { store, credentialHash, verify, now } = dependencies;

  function writeClient(clientId: string, enabled: boolean): Promise<void> {
    const client = JSON.stringify({ ...powerless, clientId, name: clientId, enabled });
    return store.set(clientKey(clientId), client, LIFETIME_SECONDS, { revokes: !enabled });
  }

  async function issue(
    clientId: string,
  ): Promise<{ readonly token: string; readonly key: string }> {
    const token = randomBytes(32).toString('base64url');
    const key = accessTokenKey(credentialHash(token));
    const iat = Math.floor(now() / 1000);
    const record = { kind: 'AccessToken', clientId, scope: '', iat, exp: iat + LIFETIME_SECONDS };
    await store.set(key, JSON.stringify(record), LIFETIME_SECONDS);
    return { token, key };
  }

  const isAccepted = async (token: string) => (await verify(token)) !== undefined;

  return {
    async measure(kind) {
      const clientId = `revocation-canary:${randomBytes(8).toString('hex')}`;
      await writeClient(clientId, true);
      const { token, key } = await issue(clientId);
      const isSettled = async () => isAccepted(token);
      if ((await until(isSettled, ACCEPTED_WITHIN_MILLISECONDS)) === undefined) {
        throw new Error('The canary token is not accepted.');
      }
      await (kind === 'token' ? store.delete([key]) : writeClient(clientId, false));
      const isEnforced = async () => !(await isAccepted(token));
      const milliseconds = await until(isEnforced, MAXIMUM_MEASUREMENT_MILLISECONDS);
      await store.delete([key, clientKey(clientId)]);
      return (milliseconds ?? MAXIMUM_MEASUREMENT_MILLISECONDS) / 1000;
    },
  };
}

const powerless: Omit<Client, 'clientId' | 'name' | 'enabled'> = {
  orgId: 'revocation-canary',
  signatureAlgorithm: 'HMAC-SHA-256',
  grantTypes: [],
  redirectUris: [],
  postLogoutRedirectUris: [],
  scopes: [],
  applicationType: 'web',
  public: false,
  firstParty: false,
  resourceServer: false,
  ownOrganizationOnly: true,
  corsOrigins: [],
  ipAllowList: [],
  notBefore: 0,
  keys: [],
};

/** @returns milliseconds until the condition was true, or undefined if it never was */
async function until(
  condition: () => Promise<boolean>,
  limitMilliseconds: number,
): Promise<number | undefined> {
  const started = performance.now();
  for (;;) {
    const asked = performance.now() - started;
    if (await condition()) {
      return asked;
    }
    if (asked > limitMilliseconds) {
      return undefined;
    }
    await sleep(POLL_MILLISECONDS, undefined, { ref: false });
  }
}
