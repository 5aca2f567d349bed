import type { Readable } from 'node:stream';

/** A body that still arrives from the caller. */
export interface BodyStream {
  readonly stream: Readable;
  /** The announced length. Undefined: the body is sent in chunks. */
  readonly length: number | undefined;
}

/** One request to a service. */
export interface OutgoingRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Name, value, …, without headers that describe the length of the body. */
  readonly headers: readonly string[];
  readonly body?: Uint8Array | BodyStream | undefined;
}

/** Characters that could end a header and start another (CWE-93). */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;
const FORBIDDEN_IN_PATH = /[^\x21-\x7e]/;
/** A service may require a length for these methods (RFC 9110 §8.6). */
const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** Writes the heads of the requests of one connection. */
export class RequestHeadWriter {
  readonly #hostHeader: string;
  /** The headers of the last request, which passed the check. */
  #checked: readonly string[] = [];

  constructor(host: string) {
    this.#hostHeader = `host: ${host}\r\nconnection: keep-alive\r\n`;
  }

  /** @throws Error if the request could be parsed as two */
  headOf({ method, path, headers, body }: OutgoingRequest): string {
    const checked = this.#checked;
    if (FORBIDDEN_IN_PATH.test(path)) {
      throw new Error('The forwarded path contains a character that is not allowed.');
    }
    let head = `${method} ${path} HTTP/1.1\r\n${this.#hostHeader}`;
    for (let index = 0; index < headers.length; index += 2) {
      const value = headers[index + 1] ?? '';
      // Most values repeat those of the last request.
      if (value !== checked[index + 1] && FORBIDDEN.test(value)) {
        throw new Error('A forwarded header contains a character that is not allowed.');
      }
      head += `${headers[index]}: ${value}\r\n`;
    }
    this.#checked = headers;
    return body === undefined && !METHODS_WITH_BODY.has(method)
      ? `${head}\r\n`
      : `${head}${framingOf(body)}\r\n\r\n`;
  }
}

function framingOf(body: OutgoingRequest['body']): string {
  const length =
    body instanceof Uint8Array || body === undefined ? (body?.length ?? 0) : body.length;
  return length === undefined ? 'transfer-encoding: chunked' : `content-length: ${length}`;
}
