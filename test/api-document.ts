import type { OpenApiDocument } from '@gatehouse/device-api/openapi';
import { type Identity, noSettings } from '@gatehouse/identity';
import { openPublicDocuments } from '../apps/gateway/src/routes/public-documents.ts';
import { deviceRoutes } from '../apps/gateway/src/routes/route.ts';

/** The OpenAPI document that a gateway with these URLs serves without a `ROUTES_FILE`. */
export async function readApiDocument(domain: string): Promise<OpenApiDocument> {
  const entries = openPublicDocuments({
    publicUrl: `https://api.${domain}`,
    authorizationServerUrl: `https://login.${domain}`,
    routes: deviceRoutes,
    strict: false,
    identity: { settings: { read: async () => noSettings } as Identity['settings'] },
    now: Date.now,
  });
  const reply = await entries.at(-1)?.read({ headers: {} }, '');
  return JSON.parse(String(reply?.body));
}
