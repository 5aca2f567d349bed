import { deviceScopes } from '@gatehouse/device-api';
import { ApiError, successEnvelope } from '@gatehouse/errors';
import type { Identity, Resource } from '@gatehouse/identity';
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
  readonly identity: Pick<Identity, 'settings'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const routed = new Set(settings.routes.map(({ method, path }) => `${method} ${path}`));
  const isFree = ({ path }: PublicEntry) => !routed.has(`GET ${path}`);
  const metadata = createMetadata(settings);
  const time = [createServerTime(settings.now)].filter(isFree);
  const openApi = createOpenApi({ ...settings, documents: [...metadata, ...time] });
  return [...metadata, ...time, ...[openApi].filter(isFree)];
}

/** Where the metadata of a resource is (RFC 9728 §3.1), for `resource_metadata` in a challenge. */
export function metadataUrlOf(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return `${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}`;
}

/** A resource with a longer path has no metadata here. */
const MAXIMUM_SEGMENTS = 4;

/**
 * The metadata that names the authorization server of a resource (RFC 9728): of the device API at
 * both its paths, and of each declared resource at its own.
 */
function createMetadata(settings: {
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  readonly strict: boolean;
  readonly identity: Pick<Identity, 'settings'>;
}): readonly PublicEntry[] {
  const { publicUrl, authorizationServerUrl, strict, identity } = settings;
  const describe = (resource: string, name: string, scopes: readonly string[]) =>
    json({
      resource,
      authorization_servers: [authorizationServerUrl],
      scopes_supported: scopes,
      bearer_methods_supported: strict ? ['header'] : ['header', 'query'],
      resource_name: name,
    });
  const { pathname: path } = new URL(metadataUrlOf(publicUrl));
  const entry: PublicEntry = {
    ...entryOf(WELL_KNOWN),
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
    read: () => describe(publicUrl, 'Device platform API', deviceScopes),
  };
  const { description: _, ...other } = { ...entry, path };
  const declared = Array.from(
    { length: MAXIMUM_SEGMENTS },
    (_unused, i): PublicEntry => ({
      ...entryOf(`${WELL_KNOWN}${'/{segment}'.repeat(i + 1)}`),
      async read({ headers }, requested) {
        const { resources } = await identity.settings.read();
        const found = resourceAt(requested, headers.host, resources.values());
        if (found === undefined) {
          throw new ApiError('not_found', { message: 'No such resource is declared.' });
        }
        return describe(found.resource, found.name, Object.keys(found.scopes));
      },
    }),
  );
  return [entry, ...(path === WELL_KNOWN ? [] : [other]), ...declared];
}

const entryOf = (path: string) =>
  ({ method: 'GET', path, operation: 'protected-resource' }) as const;

/** The resource whose metadata has this path. If there are several, the one of this host. */
function resourceAt(
  path: string,
  host: string | undefined,
  resources: Iterable<Resource>,
): Resource | undefined {
  const atPath = [...resources].filter(
    ({ resource }) => new URL(metadataUrlOf(resource)).pathname === path,
  );
  return atPath.find(({ resource }) => new URL(resource).host === host) ?? atPath[0];
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
