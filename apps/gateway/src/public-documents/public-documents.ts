import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/errors';
import { sent } from '../http/header-names.ts';
import type { Reply } from '../http/reply.ts';

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

export interface PublicDocuments {
  /**
   * Returns the document at the path, or undefined for another request.
   *
   * @throws ApiError `method_not_allowed`
   */
  answer(
    message: Pick<IncomingMessage, 'method' | 'headers'>,
    path: string,
  ): { readonly operation: string; readonly read: () => Promise<Reply> } | undefined;
}

/** @param isRouted whether a route accepts another method at the path of a document */
export function createPublicDocuments(
  documents: readonly PublicDocument[],
  isRouted: (method: string, path: string) => boolean,
): PublicDocuments {
  const byPath = new Map(
    documents.flatMap((document) => document.paths.map((path) => [path, document] as const)),
  );
  return {
    answer({ method = '', headers }, path) {
      const document = byPath.get(path);
      if (document === undefined || method === 'OPTIONS') {
        return undefined;
      }
      if (method !== 'GET' && method !== 'HEAD') {
        if (isRouted(method, path)) {
          return undefined;
        }
        throw new ApiError('method_not_allowed', {
          headers: { [sent.allow]: 'GET, HEAD, OPTIONS' },
        });
      }
      return { operation: document.operation, read: () => read(document, method, headers) };
    },
  };
}

async function read(
  document: PublicDocument,
  method: string,
  headers: IncomingHttpHeaders,
): Promise<Reply> {
  const reply = await document.read(headers);
  return method === 'HEAD' ? { ...reply, body: undefined } : reply;
}
