import {
  type AuditEvent,
  type CredentialHash,
  credentialId,
  type Identity,
} from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type Provider from 'oidc-provider';
import type {
  AccessToken,
  ClientCredentials,
  KoaContextWithOIDC,
  RefreshToken,
} from 'oidc-provider';
import { nameClient, requestOrigin } from '../requests/caller.ts';
import { contextOf } from '../requests/request-context.ts';
import { presentedClientId } from './clients.ts';
import { currentContext } from './library.ts';
import { TOO_MANY_CODE_ATTEMPTS } from './single-use.ts';

/** Their endpoints authenticate the client. */
const authenticatingActions = [
  ...['grant', 'revocation', 'introspection'],
  ...['pushed_authorization_request', 'device_authorization'],
];

/**
 * Records the provider's events in the audit trail, each once and with ids only.
 * throttle/sign-in-audit.ts records sign-ins.
 */
export function auditProviderEvents(provider: Provider, identity: Identity): void {
  const { audit, clients, credentialHash } = identity;
  const record = (context: KoaContextWithOIDC, event: AuditEvent) =>
    audit.record(event, requestOrigin(context.req));

  provider.on('grant.success', (context) => {
    const { client, params, entities } = context.oidc;
    const token = entities.AccessToken ?? entities.ClientCredentials;
    record(context, {
      event: 'token_issued',
      grant: String(params?.grant_type),
      clientId: client?.clientId ?? '',
      userId: entities.AccessToken?.accountId ?? entities.Account?.accountId,
      scope: token?.scope,
    });
  });
  provider.on('authorization.success', (context, out?: { readonly access_token?: unknown }) => {
    const { client, entities, session } = context.oidc;
    if (out?.access_token !== undefined) {
      record(context, {
        event: 'token_issued',
        grant: 'implicit',
        clientId: client?.clientId ?? '',
        userId: session?.accountId,
        scope: entities.AccessToken?.scope,
      });
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
    if (error.error_detail === TOO_MANY_CODE_ATTEMPTS) {
      record(context, { event: 'code_guessed', clientId: context.oidc.client?.clientId });
    }
  });

  for (const action of authenticatingActions) {
    provider.on(`${action}.error` as 'grant.error', async (context, error) => {
      if (error.error !== 'invalid_client') {
        return;
      }
      const origin = requestOrigin(context.req);
      const { operation: endpoint = '', reason } = observedRequest(context.req).notes;
      // An unknown id may be a secret in the wrong field, so only known ids are recorded.
      const clientId = await nameClient(context.req, presentedClientId(context), clients);
      audit.record({ event: 'client_authentication_failed', endpoint, reason, clientId }, origin);
    });
  }

  auditRevocations(provider, record, credentialHash);
}

function auditRevocations(
  provider: Provider,
  record: (context: KoaContextWithOIDC, event: AuditEvent) => void,
  credentialHash: CredentialHash,
): void {
  const auditToken = (token: AccessToken | RefreshToken | ClientCredentials) => {
    const context = currentContext();
    if (context?.oidc?.route === 'revocation') {
      const { kind, clientId, jti } = token;
      const { accountId: userId, grantId } = 'accountId' in token ? token : {};
      const tokenIds = [credentialId(credentialHash(jti))];
      record(context, { event: 'token_revoked', kind, clientId, userId, tokenIds, grantId });
    }
  };
  provider.on('access_token.destroyed', auditToken);
  provider.on('refresh_token.destroyed', auditToken);
  provider.on('client_credentials.destroyed', auditToken);

  provider.on('end_session.success', (context) => {
    const { session, params, client } = context.oidc;
    const userId = session?.accountId;
    if (params?.logout !== undefined && userId !== undefined) {
      const clientId = client?.clientId;
      record(context, { event: 'sign_out', userId, clientId, everywhere: false });
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
