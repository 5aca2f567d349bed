import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import type { DescribedOperation, DescribedRoute } from '@gatehouse/device-api/openapi';
import { errorCatalogue } from '@gatehouse/errors';
import { deviceRoutes, identityOf, type PublicEntry, type Route } from './route.ts';

const CACHE_SECONDS = 300;

/** The preferred coding first. */
const codings = ['br', 'gzip', 'identity'] as const;

/**
 * `/openapi.json`. The first request loads its code and creates it, which takes about 0.1 s of one
 * core. The gateway starts faster without this work. It is compressed once, for all callers.
 */
export function createOpenApi(settings: {
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  readonly routes: readonly Route[];
  /** The other public documents. */
  readonly documents: readonly PublicEntry[];
}): PublicEntry {
  let created: ReturnType<typeof create> | undefined;

  async function create() {
    const { createOpenApiDocument } = await import('@gatehouse/device-api/openapi');
    const document = createOpenApiDocument({
      ...settings,
      routes: describedRoutes(settings.routes),
      errors: errorCatalogue,
      documents: [...settings.documents, openApi].flatMap(describe),
    });
    const identity = Buffer.from(JSON.stringify(document));
    const br = await promisify(brotliCompress)(identity);
    const bodies = { br, gzip: await promisify(gzip)(identity), identity };
    return { bodies, hash: createHash('sha256').update(identity).digest('base64url') };
  }

  const openApi: PublicEntry = {
    method: 'GET',
    path: '/openapi.json',
    operation: 'openapi',
    description: { summary: 'Get this document', schema: { type: 'object' } },
    async read({ headers: { origin, 'if-none-match': known, 'accept-encoding': accepted } }) {
      created ??= create().catch((error: unknown) => {
        created = undefined;
        throw error;
      });
      const coding = preferredCoding(accepted);
      const { bodies, hash } = await created;
      const etag = `"${hash}-${coding}"`;
      const headers = [
        'ETag',
        etag,
        'Cache-Control',
        `public, max-age=${CACHE_SECONDS}`,
        'X-Content-Type-Options',
        'nosniff',
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
    const operation = builtIn.operation as DescribedOperation;
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
