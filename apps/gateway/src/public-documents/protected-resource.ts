import { ApiError } from '@gatehouse/api-envelope';
import { deviceScopes } from '@gatehouse/device-api';
import { sent } from '../http/header-names.ts';
import { jsonHeaders, type Reply } from '../http/reply.ts';

/** The metadata that names the authorization server of this resource (RFC 9728). */
export interface ProtectedResource {
  /** The URL of the document, for `resource_metadata` in a challenge (RFC 9728 §5.1). */
  readonly metadataUrl: string;
  /**
   * Returns the document, or undefined for another request.
   *
   * @throws ApiError `method_not_allowed`
   */
  answer(method: string, path: string): Reply | undefined;
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

export function createProtectedResource(settings: {
  /** The public URL of the gateway, which identifies the resource. */
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  readonly acceptQueryToken: boolean;
}): ProtectedResource {
  const { publicUrl, authorizationServerUrl, acceptQueryToken } = settings;
  const { origin, pathname } = new URL(publicUrl);
  const document = JSON.stringify({
    resource: publicUrl,
    authorization_servers: [authorizationServerUrl],
    scopes_supported: deviceScopes,
    bearer_methods_supported: acceptQueryToken ? ['header', 'query'] : ['header'],
    resource_name: 'Device platform API',
  });
  const path = `${WELL_KNOWN}${pathname === '/' ? '' : pathname}`;
  return {
    metadataUrl: `${origin}${path}`,
    answer(method, requested) {
      if ((requested !== WELL_KNOWN && requested !== path) || method === 'OPTIONS') {
        return undefined;
      }
      if (method !== 'GET' && method !== 'HEAD') {
        throw new ApiError('method_not_allowed', {
          headers: { [sent.allow]: 'GET, HEAD, OPTIONS' },
        });
      }
      return {
        status: 200,
        headers: [...jsonHeaders],
        body: method === 'HEAD' ? undefined : Buffer.from(document),
      };
    },
  };
}
