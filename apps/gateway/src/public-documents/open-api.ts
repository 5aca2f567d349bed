import { createHash } from 'node:crypto';
import { errorCatalogue } from '@gatehouse/api-envelope';
import { sent } from '../http/header-names.ts';
import type { Route } from '../routes/route.ts';
import { describedRoutes } from './described-routes.ts';
import type { PublicDocument } from './public-documents.ts';

const CACHE_SECONDS = 300;

/**
 * `/openapi.json`. The first request loads its code and creates it, which takes about 0.1 s of one
 * core. The gateway starts faster without this work.
 */
export function createOpenApi(settings: {
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  readonly routes: readonly Route[];
  /** The other public documents. */
  readonly documents: readonly PublicDocument[];
}): PublicDocument {
  let created: Promise<{ readonly body: Buffer; readonly etag: string }> | undefined;

  async function create() {
    const { createOpenApiDocument } = await import('@gatehouse/device-api/openapi');
    const document = createOpenApiDocument({
      ...settings,
      routes: describedRoutes(settings.routes),
      errors: errorCatalogue,
      documents: [...settings.documents, openApi].flatMap(describe),
    });
    const body = Buffer.from(JSON.stringify(document));
    return { body, etag: `"${createHash('sha256').update(body).digest('base64url')}"` };
  }

  const openApi: PublicDocument = {
    operation: 'openapi',
    paths: ['/openapi.json'],
    description: { summary: 'Get this document', schema: { type: 'object' } },
    async read({ origin, 'if-none-match': known }) {
      created ??= create().catch((error: unknown) => {
        created = undefined;
        throw error;
      });
      const { body, etag } = await created;
      const headers = [
        'ETag',
        etag,
        'Cache-Control',
        `public, max-age=${CACHE_SECONDS}`,
        'X-Content-Type-Options',
        'nosniff',
        // The pipeline adds Vary to the replies to browsers. A shared cache needs it on all replies.
        ...(origin === undefined ? [sent.vary, 'Origin'] : []),
      ];
      return known !== undefined && isKnown(etag, known)
        ? { status: 304, headers, body: undefined }
        : { status: 200, headers: [sent.contentType, 'application/json', ...headers], body };
    },
  };
  return openApi;
}

function describe({ operation, paths: [path], description }: PublicDocument) {
  return path === undefined || description === undefined
    ? []
    : [{ operation, path, ...description }];
}

/** The weak comparison of RFC 9110 §13.1.2. */
function isKnown(etag: string, known: string): boolean {
  return known.split(',').some((each) => {
    const tag = each.trim();
    return tag === '*' || tag.replace(/^W\//, '') === etag;
  });
}
