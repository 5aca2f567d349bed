import type { Session } from 'oidc-provider';

/** The registered post-logout redirect URI of the request, with its `state`. */
export function postLogoutAddress(session: Session | undefined): string | undefined {
  const { postLogoutRedirectUri, state } = session?.state ?? {};
  const url = typeof postLogoutRedirectUri === 'string' ? URL.parse(postLogoutRedirectUri) : null;
  if (url === null) {
    return undefined;
  }
  if (typeof state === 'string') {
    url.searchParams.set('state', state);
  }
  return url.href;
}
