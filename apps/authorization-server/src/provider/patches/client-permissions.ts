import { errors } from 'oidc-provider';
import { isPlatformRequest, platformGrantTypes } from '../../http/platform-requests.ts';
import { addOmittedRedirectUri } from '../policy/omitted-redirect-uri.ts';
import { settleScope } from '../policy/settle-scope.ts';
import { currentContext } from './current-context.ts';
import { methodJoint, type Patch } from './patch.ts';

const prototypeOf: Parameters<typeof methodJoint>[1] = (provider) => provider.Client.prototype;

/** Both methods run after the client is known and before the library checks the scope. */
export const clientPermissions: Patch = {
  name: 'client-permissions',
  reason:
    'A response type or grant type that a client is not registered for is unauthorized_client ' +
    '(RFC 6749 §4.1.2.1, §5.2). The library reports invalid_request. The platform endpoint supports ' +
    'fewer grant types than /token. No documented setting makes the library ignore scopes that the client is not ' +
    'registered for, or gives a request without a scope the registered ones.',
  libraryFile: 'lib/models/client.js',
  joints: [
    methodJoint('Client.prototype', prototypeOf, 'responseTypeAllowed', 1),
    methodJoint('Client.prototype', prototypeOf, 'grantTypeAllowed', 1),
  ],
  apply(provider, { securityProfile }) {
    const client = provider.Client.prototype;
    const { responseTypeAllowed, grantTypeAllowed } = client;

    function settleCurrent(): void {
      const context = currentContext();
      if (context !== undefined) {
        settleScope(context, securityProfile);
      }
    }

    client.responseTypeAllowed = function responseTypeAllowedOrThrow(type) {
      if (!responseTypeAllowed.call(this, type)) {
        throw new errors.UnauthorizedClient('this client may not use the response_type');
      }
      settleCurrent();
      return true;
    };

    // The library also calls this method to decide which tokens to issue. Only the grant type that
    // a token request names is rejected.
    client.grantTypeAllowed = function grantTypeAllowedOrThrow(type) {
      const allowed = grantTypeAllowed.call(this, type);
      const context = currentContext();
      const { oidc, req } = context ?? {};
      const isRequested = oidc?.route === 'token' && oidc.params?.grant_type === type;
      if (isRequested && req && isPlatformRequest(req) && !platformGrantTypes.has(type)) {
        throw new errors.UnsupportedGrantType();
      }
      if (!allowed && isRequested) {
        throw new errors.UnauthorizedClient('this client may not use the grant_type');
      }
      if (context && isRequested) {
        addOmittedRedirectUri(context, securityProfile);
      }
      if (isRequested || (allowed && oidc?.route === 'device_authorization')) {
        settleCurrent();
      }
      return allowed;
    };
  },
};
