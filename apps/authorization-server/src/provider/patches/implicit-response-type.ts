import { libraryInternals, requireInternals } from './library-internals.ts';
import { type Patch, propertyJoint } from './patch.ts';

const configurationOf: Parameters<typeof propertyJoint>[1] = (provider) =>
  libraryInternals(provider)?.configuration;

/**
 * Applied before the first client is looked up, because the library validates clients against these
 * values.
 */
export const implicitResponseType: Patch = {
  name: 'implicit-response-type',
  reason:
    'The specification requires response_type=token (RFC 6749 §4.2). The library rejects it in its ' +
    'configuration but still implements it (docs/decisions/09-oidc-provider-patches.md).',
  libraryFile: 'lib/helpers/configuration.js',
  joints: [propertyJoint('configuration', configurationOf, 'responseTypes', Array.isArray)],
  apply(provider, { securityProfile }) {
    if (securityProfile === 'compatible') {
      requireInternals(provider).configuration.responseTypes.push('token');
    }
  },
};
