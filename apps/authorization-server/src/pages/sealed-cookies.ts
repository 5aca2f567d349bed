/**
 * Keeps the state of a browser without a signed-in user in that browser, so that anonymous requests
 * do not grow the store. A record is sealed (AES-256-GCM) for its name and id, so that a browser
 * can neither read it, alter it nor present it as another one. The reader of the record checks its
 * expiry, which is part of the record. There is no single use: a browser can present an old cookie
 * again, so a record must not be worth more than the request that created it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createSealer, deriveKeys, type MasterKey } from '@gatehouse/identity';
import type { Request, RequestHandler, Response } from 'express';

export type SealedCookies = ReturnType<typeof createSealedCookies>;

/** Browsers keep 4096 bytes of a cookie with its name and attributes (RFC 6265 §6.1). */
const CHUNK_BYTES = 3800;
/**
 * Together they stay below the 16 KiB of a request's headers
 * (packages/server/src/server/server-limits.ts).
 */
const MAXIMUM_CHUNKS = 3;

interface CookieExchange {
  readonly request: Request;
  readonly response: Response;
  /** The records that this request read, wrote or cleared, by cookie name and id. */
  readonly known: Map<string, { readonly record: string | undefined; readonly chunks: number }>;
}

const exchanges = new AsyncLocalStorage<CookieExchange>();

/** Makes the cookies of this request available to everything it calls, including the provider. */
export const withSealedCookies: RequestHandler = (request, response, next) => {
  exchanges.run({ request, response, known: new Map() }, next);
};

/** The request for the page that is being served. */
export const currentPageRequest = (): Request | undefined => exchanges.getStore()?.request;

export function createSealedCookies(settings: {
  readonly name: string;
  /** The pages that read the record: browsers send it to no others. */
  readonly pathOf: (id: string) => string;
  readonly secure: boolean;
  readonly masterKey: MasterKey;
}) {
  const { pathOf, secure, masterKey } = settings;
  // The cookie has a path, which `__Host-` does not allow.
  const name = secure ? `__Secure-${settings.name}` : settings.name;
  const contextOf = (id: string) => `cookie:${settings.name}:${id}`;
  // A key for each record: callers create any number of records, and random nonces of one key would
  // repeat.
  const sealerOf = (id: string) => createSealer(deriveKeys(masterKey, contextOf(id)));
  const chunkName = (index: number) => `${name}.${index}`;

  function clearChunks(
    { request, response, known }: CookieExchange,
    id: string,
    from: number,
  ): void {
    const held = readChunks(request, chunkName).length;
    const count = Math.max(held, known.get(contextOf(id))?.chunks ?? 0);
    for (let index = from; index < count; index += 1) {
      response.clearCookie(chunkName(index), { path: pathOf(id) });
    }
  }

  return {
    /**
     * The record of this request, received or written; undefined if there is none or its seal is
     * invalid.
     */
    read(id: string): string | undefined {
      const exchange = exchanges.getStore();
      if (exchange === undefined) {
        return undefined;
      }
      const known = exchange.known.get(contextOf(id));
      if (known !== undefined) {
        return known.record;
      }
      const chunks = readChunks(exchange.request, chunkName);
      let record: string | undefined;
      try {
        const isHeld = chunks.length > 0;
        record = isHeld ? sealerOf(id).open(chunks.join(''), contextOf(id)) : undefined;
      } catch {
        // The seal is invalid.
      }
      exchange.known.set(contextOf(id), { record, chunks: chunks.length });
      return record;
    },
    write(id: string, record: string, secondsToLive: number): void {
      const exchange = exchanges.getStore();
      if (exchange === undefined) {
        throw new Error('A cookie can only be written while a page is served.');
      }
      const sealed = sealerOf(id).seal(record, contextOf(id));
      const count = Math.ceil(sealed.length / CHUNK_BYTES);
      if (count > MAXIMUM_CHUNKS) {
        throw new RangeError(`A record of ${record.length} characters is too long for cookies.`);
      }
      for (let index = 0; index < count; index += 1) {
        const chunk = sealed.slice(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES);
        exchange.response.cookie(chunkName(index), chunk, {
          path: pathOf(id),
          maxAge: secondsToLive * 1000,
          httpOnly: true,
          sameSite: 'lax',
          secure,
        });
      }
      clearChunks(exchange, id, count);
      exchange.known.set(contextOf(id), { record, chunks: count });
    },
    clear(id: string): void {
      const exchange = exchanges.getStore();
      if (exchange !== undefined) {
        clearChunks(exchange, id, 0);
        exchange.known.set(contextOf(id), { record: undefined, chunks: 0 });
      }
    },
  };
}

function readChunks({ headers }: Request, chunkName: (index: number) => string): readonly string[] {
  const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
  const chunks: string[] = [];
  for (let index = 0; index < MAXIMUM_CHUNKS; index += 1) {
    const start = `${chunkName(index)}=`;
    const chunk = cookies.find((cookie) => cookie.startsWith(start))?.slice(start.length);
    if (chunk === undefined) {
      break;
    }
    chunks.push(chunk);
  }
  return chunks;
}
