/** How the end of a reply's body is found (RFC 9112 §6.3). A number is a length in bytes. */
export type BodyFraming = 'none' | 'chunked' | 'until-close' | number;

/** The head of a reply of a service. */
export interface ReplyHead {
  readonly status: number;
  /** Name in lower case, value, … in order of arrival. */
  readonly headers: readonly string[];
  readonly framing: BodyFraming;
  /** How long the connection may stay idle after this reply. 0: it is not reused. */
  readonly reusableMilliseconds: number;
}

/** The service violated RFC 9112, or sent a reply that two readers could parse differently. */
export class MalformedReplyError extends Error {
  override name = 'MalformedReplyError';
}

/**
 * The complete grammar of a head without its empty line: no folding, no bare CR or LF, no space
 * before a colon. The gateway repairs nothing: a reply that two readers split in different places
 * gives one caller another caller's answer (CWE-444).
 */
const HEAD =
  /^HTTP\/1\.[01] [1-5]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?(?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*)*$/;
/** Spaces and tabs only: `trim` would also remove a no-break space. */
const OUTER_BLANKS = /^[ \t]+|[ \t]+$/g;
const LENGTH = /^\d{1,15}$/;
const KEEP_ALIVE_HINT = /(?:^|[,;\s])timeout=(\d{1,6})/i;

/** The assumed idle time of a service that announces none. */
const IDLE_MILLISECONDS = 4000;
/** Margin, so that a request does not meet the service's close of the connection. */
const IDLE_MARGIN_MILLISECONDS = 1000;

/**
 * @param head as Latin-1 text, without the empty line at its end
 * @throws MalformedReplyError
 */
export function parseReplyHead(head: string, method: string): ReplyHead {
  if (!HEAD.test(head)) {
    throw new MalformedReplyError('The head of the reply is not HTTP/1.1.');
  }
  const status = Number(head.slice(9, 12));
  const headers: string[] = [];
  const found: Record<string, string | undefined> = {};
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).replace(OUTER_BLANKS, '');
    headers.push(name, value);
    switch (name) {
      case 'content-length':
      case 'transfer-encoding':
        // A tab is allowed, but some readers do not treat it as a space.
        if (found[name] !== undefined || line.includes('\t')) {
          throw new MalformedReplyError(`The reply has two ${name} headers, or one with a tab.`);
        }
        found[name] = value;
        break;
      case 'connection':
      case 'keep-alive':
        found[name] = found[name] === undefined ? value : `${found[name]}, ${value}`;
        break;
    }
  }
  const isHttp11 = head.startsWith('HTTP/1.1');
  const framing = framingOf(status, method, isHttp11, found);
  // A service may send a body where none is allowed. It would be read as the next reply.
  const mayHaveUnexpectedBody =
    framing === 'none' && ((method === 'HEAD' && status >= 200) || announcesBody(found));
  const isLast = !isHttp11 || framing === 'until-close' || mayHaveUnexpectedBody;
  return {
    status,
    headers,
    framing,
    reusableMilliseconds: isLast ? 0 : reusableMilliseconds(found),
  };
}

type FramingHeaders = Readonly<Record<string, string | undefined>>;

function framingOf(
  status: number,
  method: string,
  isHttp11: boolean,
  found: FramingHeaders,
): BodyFraming {
  const length = found['content-length'];
  const encoding = found['transfer-encoding'];
  if (length !== undefined && !LENGTH.test(length)) {
    throw new MalformedReplyError('The length of the reply is no number.');
  }
  if (encoding !== undefined) {
    if (length !== undefined || encoding.toLowerCase() !== 'chunked' || !isHttp11) {
      throw new MalformedReplyError('The transfer encoding of the reply is not chunked alone.');
    }
  }
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) {
    return 'none';
  }
  if (encoding !== undefined) {
    return 'chunked';
  }
  return length === undefined ? 'until-close' : Number(length);
}

function announcesBody(found: FramingHeaders): boolean {
  return found['transfer-encoding'] !== undefined || Number(found['content-length'] ?? 0) > 0;
}

function reusableMilliseconds(found: FramingHeaders): number {
  const { connection, 'keep-alive': keepAlive } = found;
  if (connection !== undefined && connection !== 'keep-alive') {
    const options = connection.toLowerCase().split(',');
    if (options.some((option) => option.trim() === 'close')) {
      return 0;
    }
  }
  const hint = keepAlive === undefined ? undefined : KEEP_ALIVE_HINT.exec(keepAlive)?.[1];
  return hint === undefined
    ? IDLE_MILLISECONDS
    : Math.max(0, Math.min(IDLE_MILLISECONDS, Number(hint) * 1000 - IDLE_MARGIN_MILLISECONDS));
}
