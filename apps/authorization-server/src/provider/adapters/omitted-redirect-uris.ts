import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { currentContext } from '../patches/current-context.ts';
import { OMITTED } from '../policy/omitted-redirect-uri.ts';
import { wrapAdapter } from './wrap-adapter.ts';

interface CodePayload extends AdapterPayload {
  readonly redirectUriOmitted?: true;
}

/**
 * Requires `redirect_uri` at /token for every code whose authorization request had one (RFC 6749
 * §4.1.3).
 */
export function requireRedirectUri(stored: Adapter): Adapter {
  return wrapAdapter(stored, {
    async upsert(id, payload, expiresIn) {
      const isOmitted = currentContext()?.oidc.params?.[OMITTED] !== undefined;
      const code: CodePayload = isOmitted ? { ...payload, redirectUriOmitted: true } : payload;
      await stored.upsert(id, code, expiresIn);
    },
    async find(id) {
      const code = (await stored.find(id)) as CodePayload | undefined;
      const { oidc } = currentContext() ?? {};
      // A foreign client must not learn anything about the code.
      const isOwn = code !== undefined && code.clientId === oidc?.client?.clientId;
      const isRequired = isOwn && code.redirectUriOmitted !== true;
      if (isRequired && oidc?.route === 'token' && !oidc.body?.redirect_uri) {
        throw new errors.InvalidRequest('missing required parameter(s) (redirect_uri)');
      }
      return code;
    },
  });
}
