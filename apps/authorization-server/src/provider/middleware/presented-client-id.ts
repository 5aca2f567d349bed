import type { KoaContextWithOIDC } from 'oidc-provider';
import { basicClientId } from '../../http/basic-client-id.ts';

/** The client id that a request presents, authenticated or not. Empty if there is none. */
export function presentedClientId({ oidc, headers }: KoaContextWithOIDC): string {
  const { client, params } = oidc;
  if (client !== undefined || typeof params?.client_id === 'string') {
    return client?.clientId ?? String(params?.client_id);
  }
  return basicClientId(headers.authorization);
}
