import type { Route } from '../routes/route.ts';
import { createOpenApi } from './open-api.ts';
import { createProtectedResource } from './protected-resource.ts';
import {
  createPublicDocuments,
  type PublicDocument,
  type PublicDocuments,
} from './public-documents.ts';
import { createServerTime } from './server-time.ts';

/**
 * Every document that the gateway serves without a credential. A GET route of `ROUTES_FILE` with the
 * path of a document replaces it, except for the metadata, which every challenge names.
 */
export function openPublicDocuments(settings: {
  /** The public URL of the gateway. */
  readonly publicUrl: string;
  readonly authorizationServerUrl: string;
  readonly routes: readonly Route[];
  readonly strict: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}): {
  readonly publicDocuments: PublicDocuments;
  readonly metadataUrl: string;
  readonly openApi: PublicDocument;
} {
  const metadata = createProtectedResource({ ...settings, acceptQueryToken: !settings.strict });
  const routed = new Set(settings.routes.map(({ method, path }) => `${method} ${path}`));
  const isFree = ({ paths }: PublicDocument) => paths.every((path) => !routed.has(`GET ${path}`));
  const time = [createServerTime(settings.now)].filter(isFree);
  const openApi = createOpenApi({ ...settings, documents: [metadata, ...time] });
  return {
    publicDocuments: createPublicDocuments(
      [metadata, ...time, ...[openApi].filter(isFree)],
      (method, path) => routed.has(`${method} ${path}`),
    ),
    metadataUrl: metadata.metadataUrl,
    openApi,
  };
}
