import { type AuditEvent, credentialId, type Identity } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import Provider, {
  type AccessToken,
  type ClientCredentials,
  type KoaContextWithOIDC,
  type RefreshToken,
} from 'oidc-provider';
import { requestOrigin } from '../requests/caller.ts';
import { contextOf } from '../requests/request-context.ts';
import { clientEndpointPaths } from '../requests/routes.ts';
import { redemptionLimit } from '../throttle/limits.ts';
import { failingActions, nameClientOf } from './errors.ts';

/**
 * Records the provider's events in the audit trail, each once and with ids only.
 * throttle/sign-in-throttle.ts records sign-ins.
 */
export function auditProviderEvents(provider: Provider, identity: Identity): void {
  const { audit, clients } = identity;
  const record = (context: KoaContextWithOIDC, event: AuditEvent) =>
    audit.record(event, requestOrigin(context.req));

  const issued = ({ oidc }: KoaContextWithOIDC, grant: string): AuditEvent => {
    const { client, entities, session } = oidc;
    const { AccessToken, ClientCredentials, Account } = entities;
    return {
      event: 'token_issued',
      grant,
      clientId: client?.clientId ?? '',
      userId: AccessToken?.accountId ?? Account?.accountId ?? session?.accountId,
      scope: (AccessToken ?? ClientCredentials)?.scope,
    };
  };
  provider.on('grant.success', (context) =>
    record(context, issued(context, String(context.oidc.params?.grant_type))),
  );
  provider.on('authorization.success', (context, out?: { readonly access_token?: unknown }) => {
    if (out?.access_token !== undefined) {
      record(context, issued(context, 'implicit'));
    }
  });

  provider.on('grant.error', (context, error) => {
    const [, label] = /^(.+) already (?:consumed|used)$/.exec(error.error_detail ?? '') ?? [];
    if (label !== undefined) {
      const presented = contextOf(context.req).credential;
      record(context, {
        event: label === 'refresh token' ? 'refresh_token_replayed' : 'code_replayed',
        clientId: context.oidc.client?.clientId,
        userId: presented?.userId,
        grantId: presented?.grantId,
      });
    }
    if (error.error_detail === redemptionLimit.finding) {
      record(context, { event: 'code_guessed', clientId: context.oidc.client?.clientId });
    }
  });

  for (const action of failingActions) {
    provider.on(`${action}.error` as 'grant.error', async (context, error) => {
      // Their endpoints authenticate the client.
      if (error.error !== 'invalid_client' || !clientEndpointPaths.includes(context.path)) {
        return;
      }
      const origin = requestOrigin(context.req);
      const { operation: endpoint = '', reason } = observedRequest(context.req).notes;
      // An unknown id may be a secret in the wrong field, so only known ids are recorded.
      const clientId = await nameClientOf(context, clients);
      audit.record({ event: 'client_authentication_failed', endpoint, reason, clientId }, origin);
    });
  }

  auditRevocations(provider, identity);
  watchChallenges(provider, identity);
}

function auditRevocations(provider: Provider, { audit, credentialHash }: Identity): void {
  const auditToken = (token: AccessToken | RefreshToken | ClientCredentials) => {
    const context = Provider.ctx;
    if (context?.oidc?.route === 'revocation') {
      const { kind, clientId, jti } = token;
      const { accountId: userId, grantId } = 'accountId' in token ? token : {};
      const tokenIds = [credentialId(credentialHash(jti))];
      const event = { event: 'token_revoked', kind, clientId, userId, tokenIds, grantId } as const;
      audit.record(event, requestOrigin(context.req));
    }
  };
  provider.on('access_token.destroyed', auditToken);
  provider.on('refresh_token.destroyed', auditToken);
  provider.on('client_credentials.destroyed', auditToken);

  // The sign-out goes on although the notice could not be stored.
  provider.on('backchannel.error', (context, _error, { clientId }, userId) => {
    const event = { event: 'logout_undelivered', clientId, userId } as const;
    audit.record(event, requestOrigin(context.req));
  });
  provider.on('end_session.success', (context) => {
    const { session, params, client } = context.oidc;
    const userId = session?.accountId;
    if (params?.logout !== undefined && userId !== undefined) {
      const clientId = client?.clientId;
      const event = { event: 'sign_out', userId, clientId, everywhere: false } as const;
      audit.record(event, requestOrigin(context.req));
    }
  });
}

/**
 * A user may go back and start again. A client with a constant challenge still reaches this number.
 */
const SUSPICIOUS_USES = 10;
const WINDOW_SECONDS = 24 * 60 * 60;

/**
 * RFC 9700 §2.1.1: a PKCE challenge belongs to one transaction. A constant challenge protects
 * nothing, so it is audited once a day for each challenge.
 */
function watchChallenges(provider: Provider, identity: Identity): void {
  const { store, credentialHash, audit } = identity;
  provider.on('authorization.success', async (context) => {
    const { client, params, entities } = context.oidc;
    const challenge = params?.code_challenge;
    if (client === undefined || typeof challenge !== 'string' || !entities.AuthorizationCode) {
      return;
    }
    const { clientId } = client;
    const origin = requestOrigin(context.req);
    const key = `challenge-uses:${credentialHash(`${clientId}\n${challenge}`)}`;
    // A failed count must not fail the sign-in.
    const { count } = await store.increment(key, WINDOW_SECONDS).catch(() => ({ count: 0 }));
    if (count === SUSPICIOUS_USES) {
      audit.record({ event: 'pkce_challenge_reused', clientId }, origin);
    }
  });
}
