import { deviceScopes } from '@gatehouse/device-api';
import { jsonHeaders } from '../http/reply.ts';
import type { PublicDocument } from './public-documents.ts';

/** The metadata that names the authorization server of this resource (RFC 9728). */
export interface ProtectedResource extends PublicDocument {
  /** The URL of the document, for `resource_metadata` in a challenge (RFC 9728 §5.1). */
  readonly metadataUrl: string;
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
    operation: 'protected-resource',
    paths: [WELL_KNOWN, path],
    description: {
      summary: 'Get the metadata of this resource (RFC 9728)',
      schema: {
        type: 'object',
        required: ['resource', 'authorization_servers'],
        properties: {
          resource: { type: 'string', format: 'uri' },
          authorization_servers: { type: 'array', items: { type: 'string', format: 'uri' } },
          scopes_supported: { type: 'array', items: { type: 'string' } },
          bearer_methods_supported: { type: 'array', items: { enum: ['header', 'query'] } },
          resource_name: { type: 'string' },
        },
        additionalProperties: false,
      },
    },
    metadataUrl: `${origin}${path}`,
    read: () => ({ status: 200, headers: [...jsonHeaders], body: Buffer.from(document) }),
  };
}
