/**
 * The reasons of messages that the library uses for several cases. The request tells the cases
 * apart.
 */
import type { FailureReasonName } from '@gatehouse/errors';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { contextOf } from '../../requests/request-context.ts';
import { redirectUriDifference, registrationDifference } from './redirect-uri-difference.ts';

type ReasonOfRequest = (context: KoaContextWithOIDC) => FailureReasonName;

/** The prefix of the reasons for the credential of a token request. */
function credentialKind({ oidc }: KoaContextWithOIDC): 'code' | 'refresh_token' | 'device_code' {
  const grantType = oidc.params?.grant_type;
  if (grantType === 'refresh_token') {
    return 'refresh_token';
  }
  return grantType === 'authorization_code' ? 'code' : 'device_code';
}

export const mismatchOfClient: ReasonOfRequest = (context) =>
  `${credentialKind(context)}_of_another_client`;

export const lostRace: ReasonOfRequest = (context) => `${credentialKind(context)}_lost_race`;

/** To another client, every state of a credential looks the same. */
export function presentedByOther(reason: FailureReasonName): ReasonOfRequest {
  return (context) => {
    const { clientId } = contextOf(context.req).credential ?? {};
    return clientId !== undefined && clientId !== context.oidc.client?.clientId
      ? mismatchOfClient(context)
      : reason;
  };
}

export const unknownCredential: ReasonOfRequest = (context) => {
  const kind = credentialKind(context);
  return contextOf(context.req).credential?.isRevoked === true
    ? presentedByOther(`${kind}_revoked`)(context)
    : `${kind}_unknown`;
};

export const redirectUriOfCode: ReasonOfRequest = ({ oidc, req }) => {
  const { redirectUri } = contextOf(req).credential ?? {};
  return redirectUriDifference(redirectUri ?? '', String(oidc.params?.redirect_uri));
};

export const mismatchOfRegistration: ReasonOfRequest = ({ oidc }) =>
  registrationDifference(oidc.client?.redirectUris ?? [], String(oidc.params?.redirect_uri));

export const clientNotFound: ReasonOfRequest = ({ req }) =>
  contextOf(req).isClientDisabled ? 'client_disabled' : 'client_unknown';

export const mismatchOfSecret: ReasonOfRequest = ({ oidc }) =>
  oidc.client?.clientAuthMethod === 'none' ? 'client_secret_unexpected' : 'client_secret_missing';
