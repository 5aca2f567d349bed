import { deviceScopes } from '@gatehouse/device-api';
import { successEnvelope } from '@gatehouse/errors';
import { jsonHeaders, type Reply } from '../messages.ts';
import { createOpenApi } from './open-api.ts';
import type { PublicEntry, Route } from './route.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/**
 * Every document that the gateway serves without a credential. A GET route of `ROUTES_FILE` with the
 * path of a document replaces it, except for the metadata, which every challenge names.
 */
export function openPublicDocuments(settings: {
  /** The public URL of the gateway, which identifies the resource. */
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  readonly routes: readonly Route[];
  readonly strict: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const routed = new Set(settings.routes.map(({ method, path }) => `${method} ${path}`));
  const isFree = ({ path }: PublicEntry) => !routed.has(`GET ${path}`);
  const { metadata, metadataUrl } = createMetadata(settings);
  const time = [createServerTime(settings.now)].filter(isFree);
  const openApi = createOpenApi({ ...settings, documents: [...metadata, ...time] });
  return {
    entries: [...metadata, ...time, ...[openApi].filter(isFree)],
    /** For `resource_metadata` in a challenge (RFC 9728 §5.1). */
    metadataUrl,
  };
}

/** The metadata that names the authorization server of this resource (RFC 9728), at both its paths. */
function createMetadata(settings: {
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  readonly strict: boolean;
}) {
  const { publicUrl, authorizationServerUrl, strict } = settings;
  const { origin, pathname } = new URL(publicUrl);
  const document = {
    resource: publicUrl,
    authorization_servers: [authorizationServerUrl],
    scopes_supported: deviceScopes,
    bearer_methods_supported: strict ? ['header'] : ['header', 'query'],
    resource_name: 'Device platform API',
  };
  const path = `${WELL_KNOWN}${pathname === '/' ? '' : pathname}`;
  const entry: PublicEntry = {
    method: 'GET',
    path: WELL_KNOWN,
    operation: 'protected-resource',
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
    read: () => json(document),
  };
  const { description: _, ...other } = { ...entry, path };
  return { metadata: path === WELL_KNOWN ? [entry] : [entry, other], metadataUrl: origin + path };
}

/** `/time`: the clock of the gateway, for devices that sign requests but have no clock. */
function createServerTime(now: () => number): PublicEntry {
  return {
    method: 'GET',
    path: '/time',
    operation: 'time',
    description: {
      summary: 'Get the time of the gateway',
      schema: {
        type: 'object',
        required: ['status', 'code', 'message', 'result', 'timestamp'],
        properties: {
          status: { const: 200 },
          code: { const: 'success' },
          message: { type: 'string' },
          result: {
            type: 'integer',
            format: 'int64',
            description: 'Epoch milliseconds, as in X-Timestamp.',
          },
          timestamp: { type: 'integer', format: 'int64', description: 'Epoch milliseconds.' },
        },
        additionalProperties: false,
      },
    },
    read() {
      const time = now();
      return json(successEnvelope(time, time));
    },
  };
}

function json(document: object): Reply {
  return { status: 200, headers: [...jsonHeaders], body: Buffer.from(JSON.stringify(document)) };
}
