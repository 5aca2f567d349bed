import type { Identity } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import { requestOrigin } from '../../audit/request-origin.ts';

/**
 * A user may go back and start again. A client with a constant challenge still reaches this number.
 */
const SUSPICIOUS_USES = 10;
const WINDOW_SECONDS = 24 * 60 * 60;

/**
 * RFC 9700 §2.1.1: a PKCE challenge belongs to one transaction. A constant challenge protects
 * nothing, so it is audited once a day for each challenge.
 */
export function watchChallenges(provider: Provider, identity: Identity): void {
  const { store, credentialHash, audit } = identity;
  provider.on('authorization.success', (context) => {
    const { client, params, entities } = context.oidc;
    const challenge = params?.code_challenge;
    if (client === undefined || typeof challenge !== 'string' || !entities.AuthorizationCode) {
      return;
    }
    const { clientId } = client;
    const origin = requestOrigin(context.req);
    const key = `challenge-uses:${credentialHash(`${clientId}\n${challenge}`)}`;
    store.increment(key, WINDOW_SECONDS).then(
      ({ count }) => {
        if (count === SUSPICIOUS_USES) {
          audit.record({ event: 'pkce_challenge_reused', clientId }, origin);
        }
      },
      // A failed count must not fail the sign-in.
      () => undefined,
    );
  });
}
