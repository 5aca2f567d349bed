import type { Client, KoaContextWithOIDC } from 'oidc-provider';

/** The library runs grants after client authentication only, which its types do not show. */
export function authenticatedClient({ oidc }: KoaContextWithOIDC): Client {
  return oidc.client as Client;
}
