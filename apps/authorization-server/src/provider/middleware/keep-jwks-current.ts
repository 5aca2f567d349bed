import type { KeptSigningKeys, SigningKeys } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import { installSigningKeys } from '../patches/signing-keys.ts';
import type { ProviderMiddleware } from './provider-middleware.ts';

/**
 * Brings rotated signing keys into the running provider. A second provider would lose its
 * registered grants.
 */
export function keepJwksCurrent(provider: Provider, kept: KeptSigningKeys): ProviderMiddleware {
  let installed: SigningKeys | undefined;
  return async (_context, next) => {
    const keys = await kept.load();
    if (keys !== installed) {
      installSigningKeys(provider, keys);
      installed = keys;
    }
    await next();
  };
}
