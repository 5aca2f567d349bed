import type { Client } from '@gatehouse/identity';
import type { AdapterPayload } from 'oidc-provider';
import { claimsWithin } from '../policy/requested-claims.ts';

/** The code or token without the scopes and claims that its client lost since it was issued. */
export function withoutLostScopes(
  payload: AdapterPayload,
  client: Client | undefined,
): AdapterPayload {
  if (client === undefined || typeof payload.scope !== 'string') {
    return payload;
  }
  const kept = payload.scope.split(' ').filter((scope) => client.scopes.includes(scope));
  const { claims } = payload;
  return {
    ...payload,
    scope: kept.join(' '),
    ...(claims && { claims: claimsWithin(claims, client.scopes) }),
  };
}
