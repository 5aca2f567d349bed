import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { deviceScopes } from '@gatehouse/device-api';
import type { DescribedRoute } from '@gatehouse/device-api/openapi';
import { ApiError, errorCatalogue, successEnvelope } from '@gatehouse/errors';
import { type Identity, MAXIMUM_PATH_SEGMENTS } from '@gatehouse/identity';
import { LRUCache } from 'lru-cache';
import { jsonHeaders, type Reply } from '../messages.ts';
import { deviceRoutes, identityOf, type PublicEntry, type Route } from './route.ts';

interface Settings {
  /** The public URL of the gateway, which identifies the resource. */
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  readonly routes: readonly Route[];
  readonly strict: boolean;
  readonly identity: Pick<Identity, 'settings'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/**
 * Every document that the gateway serves without a credential. A GET route of `ROUTES_FILE` with the
 * path of a document replaces it, except for the metadata, which every challenge names.
 */
export function openPublicDocuments(settings: Settings) {
  const routed = new Set(settings.routes.map(({ method, path }) => `${method} ${path}`));
  const isFree = ({ path }: PublicEntry) => !routed.has(`GET ${path}`);
  const metadata = createMetadata(settings);
  const time = [createServerTime(settings.now)].filter(isFree);
  const openApi = createOpenApi(settings, [...metadata, ...time]);
  return [...metadata, ...time, ...[openApi].filter(isFree)];
}

/** Where the metadata of a resource is (RFC 9728 §3.1), for `resource_metadata` in a challenge. */
export function metadataUrlOf(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return `${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}`;
}

/**
 * The metadata that names the authorization server of a resource (RFC 9728): of the device API at
 * both its paths, and of each declared resource at its own. At the root of another host, it is that of
 * the resource of this host.
 */
function createMetadata(settings: Settings): readonly PublicEntry[] {
  const { publicUrl, authorizationServerUrl, strict, identity } = settings;
  const describe = (resource: string, name: string, scopes: readonly string[]) =>
    json({
      resource,
      authorization_servers: [authorizationServerUrl],
      scopes_supported: scopes,
      bearer_methods_supported: strict ? ['header'] : ['header', 'query'],
      resource_name: name,
    });
  const { host, pathname: path } = new URL(metadataUrlOf(publicUrl));
  const description = {
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
  };
  const declaredAt = async (requested: string) => {
    const { resources } = await identity.settings.read();
    return [...resources.values()].filter(
      ({ resource }) => new URL(metadataUrlOf(resource)).pathname === requested,
    );
  };
  const read: PublicEntry['read'] = async ({ headers }, requested) => {
    const isOwn = requested === WELL_KNOWN || requested === path;
    // The document of the device API needs no store.
    const reading = isOwn && headers.host === host ? Promise.resolve([]) : declaredAt(requested);
    const declared = await (isOwn ? reading.catch(() => []) : reading);
    const ofHost = declared.find(({ resource }) => new URL(resource).host === headers.host);
    const found = ofHost ?? (isOwn ? undefined : declared[0]);
    if (found !== undefined) {
      return describe(found.resource, found.name, Object.keys(found.scopes));
    }
    if (!isOwn) {
      throw new ApiError('not_found', { message: 'No such resource is declared.' });
    }
    return describe(publicUrl, 'Device platform API', deviceScopes);
  };
  const segments = Array.from({ length: MAXIMUM_PATH_SEGMENTS }, (_unused, i) => i + 1);
  const others = [path, ...segments.map((count) => WELL_KNOWN + '/{segment}'.repeat(count))];
  const common = { method: 'GET', operation: 'protected-resource', read } as const;
  return [
    { ...common, path: WELL_KNOWN, description },
    ...others.filter((other) => other !== WELL_KNOWN).map((other) => ({ ...common, path: other })),
  ];
}

/** `/time`: the clock of the gateway, for devices that sign requests but have no clock. */
function createServerTime(now: () => number): PublicEntry {
  return {
    method: 'GET',
    path: '/time',
    operation: 'time',
    description: {
      summary: 'Get the time of the gateway',
      result: {
        type: 'integer',
        format: 'int64',
        description: 'Epoch milliseconds, as in X-Timestamp.',
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

const CACHE_SECONDS = 300;

/** The preferred coding first. */
const codings = ['br', 'gzip', 'identity'] as const;

/**
 * `/openapi.json`, which describes the other public documents, too. The first request loads its code and creates it, which takes about 0.1 s of one
 * core. The gateway starts faster without this work. It is compressed once, for all callers.
 */
export function createOpenApi(
  settings: Pick<Settings, 'publicUrl' | 'authorizationServerUrl' | 'routes'>,
  documents: readonly PublicEntry[],
): PublicEntry {
  async function create() {
    const { createOpenApiDocument } = await import('@gatehouse/device-api/openapi');
    const document = createOpenApiDocument({
      ...settings,
      routes: describedRoutes(settings.routes),
      errors: errorCatalogue,
      documents: [...documents, openApi].flatMap(describe),
    });
    const identity = Buffer.from(JSON.stringify(document));
    const br = await promisify(brotliCompress)(identity);
    const bodies = { br, gzip: await promisify(gzip)(identity), identity };
    return { bodies, hash: createHash('sha256').update(identity).digest('base64url') };
  }

  // A failure is not kept.
  const created = new LRUCache<string, Awaited<ReturnType<typeof create>>>({
    max: 1,
    fetchMethod: create,
  });
  const openApi: PublicEntry = {
    method: 'GET',
    path: '/openapi.json',
    operation: 'openapi',
    description: { summary: 'Get this document', schema: { type: 'object' } },
    async read({ headers: { origin, 'if-none-match': known, 'accept-encoding': accepted } }) {
      const coding = preferredCoding(accepted);
      const { bodies, hash } = await created.forceFetch('document');
      const etag = `"${hash}-${coding}"`;
      const headers = [
        ...['ETag', etag, 'Cache-Control', `public, max-age=${CACHE_SECONDS}`],
        ...['X-Content-Type-Options', 'nosniff'],
        ...(coding === 'identity' ? [] : ['Content-Encoding', coding]),
        'Vary',
        // The pipeline adds Origin for browsers. A shared cache needs it on all replies.
        origin === undefined ? 'Accept-Encoding, Origin' : 'Accept-Encoding',
      ];
      return known !== undefined && isKnown(etag, known)
        ? { status: 304, headers, body: undefined }
        : {
            status: 200,
            headers: ['Content-Type', 'application/json', ...headers],
            body: bodies[coding],
          };
    },
  };
  return openApi;
}

function describe({ operation, path, description }: PublicEntry) {
  return description === undefined ? [] : [{ operation, path, ...description }];
}

/**
 * The built-in routes that the gateway serves. The document is public, so it must not disclose the
 * routes of other services.
 */
export function describedRoutes(served: readonly Route[]): readonly DescribedRoute[] {
  const byRequest = new Map(served.map((route) => [identityOf(route), route]));
  return deviceRoutes.flatMap((builtIn) => {
    const { method, path } = builtIn;
    // Each built-in route is an operation of the device API, or issues an X-Access-Token.
    const operation = builtIn.operation as DescribedRoute['operation'];
    const route = byRequest.get(identityOf(builtIn));
    if (route === undefined || route.upstream !== builtIn.upstream) {
      return [];
    }
    const { scope, credentials } = route;
    return [{ operation, method, path, scope, credentials }];
  });
}

/** The first coding that the caller names, unless with the weight 0 (RFC 9110 §12.5.3). */
function preferredCoding(accepted = ''): (typeof codings)[number] {
  const named = accepted
    .toLowerCase()
    .split(',')
    .flatMap((each) => (/;\s*q=0(\.0*)?\s*$/.test(each) ? [] : [each.split(';', 1)[0]?.trim()]));
  return codings.find((coding) => named.includes(coding)) ?? 'identity';
}

/** The weak comparison of RFC 9110 §13.1.2. */
function isKnown(etag: string, known: string): boolean {
  return known.split(',').some((each) => {
    const tag = each.trim();
    return tag === '*' || tag.replace(/^W\//, '') === etag;
  });
}
