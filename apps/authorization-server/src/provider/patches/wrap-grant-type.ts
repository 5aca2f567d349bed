import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import instance from 'oidc-provider/lib/helpers/weak_cache.js';

/** Answers by setting `context.body`, or throws one of the library's errors. */
export type GrantHandler = (context: KoaContextWithOIDC) => Promise<void>;

/**
 * Puts a step of ours before the library's own handler of a grant type. The library lets a handler be replaced but
 * not called, so this reaches inside, as enable-implicit.ts does and on the same terms.
 */
export function wrapGrantType(
  provider: Provider,
  grantType: string,
  wrap: (context: KoaContextWithOIDC, handler: GrantHandler) => Promise<void>,
): void {
  const handlers = instance(provider)?.grantTypeHandlers;
  const handler = handlers?.get(grantType);
  if (handlers === undefined || handler === undefined) {
    throw new Error('This version of oidc-provider keeps its grant handlers elsewhere.');
  }
  handlers.set(grantType, (context) => wrap(context, handler));
}
