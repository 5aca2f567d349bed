import type { PublicEntry } from '../routes/entries.ts';
import type { Route } from '../routes/route.ts';
import { createOpenApi } from './open-api.ts';
import { createProtectedResource } from './protected-resource.ts';
import { type PublicDocument, publicEntries } from './public-documents.ts';
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
  readonly entries: readonly PublicEntry[];
  readonly metadataUrl: string;
  readonly openApi: PublicDocument;
} {
  const metadata = createProtectedResource({ ...settings, acceptQueryToken: !settings.strict });
  const routed = new Set(settings.routes.map(({ method, path }) => `${method} ${path}`));
  const isFree = ({ paths }: PublicDocument) => paths.every((path) => !routed.has(`GET ${path}`));
  const time = [createServerTime(settings.now)].filter(isFree);
  const openApi = createOpenApi({ ...settings, documents: [metadata, ...time] });
  return {
    entries: publicEntries([metadata, ...time, ...[openApi].filter(isFree)]),
    metadataUrl: metadata.metadataUrl,
    openApi,
  };
}
