import type { IncomingHttpHeaders } from 'node:http';
import type { Reply } from '../http/reply.ts';
import type { PublicEntry } from '../routes/entries.ts';

/** A document that the gateway serves without a credential. */
export interface PublicDocument {
  /** The name of its requests in logs and metrics. */
  readonly operation: string;
  /** The preferred path first. */
  readonly paths: readonly string[];
  /** Describes a document of JSON in `/openapi.json`. */
  readonly description?: {
    readonly summary: string;
    /** The JSON Schema of the document. */
    readonly schema: Readonly<Record<string, unknown>>;
  };
  /** The reply to a GET with these headers. */
  read(headers: IncomingHttpHeaders): Reply | Promise<Reply>;
}

export function publicEntries(documents: readonly PublicDocument[]): readonly PublicEntry[] {
  return documents.flatMap(({ operation, paths, read }) =>
    paths.map(
      (path): PublicEntry => ({
        method: 'GET',
        path,
        operation,
        read: ({ headers }) => read(headers),
      }),
    ),
  );
}
