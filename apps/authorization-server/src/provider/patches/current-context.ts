import Provider from 'oidc-provider';
import type { Patch } from './patch.ts';

/** Used by adapters/ and by other patches. */
export const currentContextOfLibrary: Patch = {
  name: 'current-context',
  reason:
    'Adapters and models have to know the request that they serve. The library passes no context ' +
    'to them. Its published types name Provider.ctx, but its documentation does not.',
  libraryFile: 'lib/provider.js',
  joints: [
    {
      name: 'Provider.ctx',
      member: 'ctx',
      holderOf: () => Provider,
      isExpected: (holder) =>
        typeof Object.getOwnPropertyDescriptor(holder, 'ctx')?.get === 'function',
    },
  ],
};

/** The request that the library is serving; undefined outside a request. */
export const currentContext = () => Provider.ctx;
