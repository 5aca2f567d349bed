import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { libraryInternals, requireInternals } from './library-internals.ts';
import type { Patch } from './patch.ts';

/** Answers by setting `context.body`, or throws one of the library's errors. */
export type GrantHandler = (context: KoaContextWithOIDC) => Promise<void>;

const GRANT_TYPE = 'refresh_token';

/** Used by grants/machine-tokens.ts. */
export const refreshTokenGrant: Patch = {
  name: 'refresh-token-grant',
  reason:
    'Refresh tokens of machines have no account, which the library requires. The library allows a ' +
    'grant handler to be replaced, but not to be called from its replacement.',
  libraryFile: 'lib/actions/grants/refresh_token.js',
  joints: [
    {
      name: `grantTypeHandlers.get('${GRANT_TYPE}')`,
      member: 'grantTypeHandlers',
      holderOf: libraryInternals,
      isExpected: (internals) => {
        const handlers: unknown = Reflect.get(internals, 'grantTypeHandlers');
        return handlers instanceof Map && typeof handlers.get(GRANT_TYPE) === 'function';
      },
    },
  ],
};

/** Replaces the library's handler of refresh tokens with one that can call it. */
export function wrapRefreshTokenGrant(
  provider: Provider,
  wrap: (context: KoaContextWithOIDC, handler: GrantHandler) => Promise<void>,
): void {
  const handlers = requireInternals(provider).grantTypeHandlers;
  const handler = handlers.get(GRANT_TYPE);
  if (handler === undefined) {
    throw new Error(`The library has no handler for ${GRANT_TYPE}.`);
  }
  handlers.set(GRANT_TYPE, (context) => wrap(context, handler));
}
