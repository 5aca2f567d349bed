import { AmbiguousTextError } from '../ambiguous-text-error.ts';

const required = ['status', 'code', 'message', 'timestamp'] as const;
const members: ReadonlySet<string> = new Set([...required, 'result', 'expires']);

/**
 * Version 1 signs replies like request bodies, so no request of version 1 may be a reply envelope
 * (CWE-301). This is the second line of defense: the signature of every reply is claimed before the
 * reply leaves.
 *
 * @throws AmbiguousTextError for an object that has the members of an envelope, an HTTP status, and
 * no
 *   other member
 */
export function assertNotReplyEnvelope(signedText: string | Uint8Array): void {
  const text = typeof signedText === 'string' ? signedText : viewOf(signedText);
  // The gateway never escapes a member name, so a search over the bytes spares most bodies the
  // parser.
  if (required.every((name) => text.includes(`"${name}"`)) && isReplyEnvelope(text.toString())) {
    throw new AmbiguousTextError(
      'A signature version 1 request must not be a reply envelope. ' +
        'Rename one of `status`, `code`, `message`, `timestamp`, or use version 2.',
      'reply_as_request',
    );
  }
}

function isReplyEnvelope(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    const { status, code, message, timestamp } = Object(value);
    return (
      Number.isInteger(status) &&
      status >= 100 &&
      status <= 599 &&
      typeof code === 'string' &&
      typeof message === 'string' &&
      typeof timestamp === 'number' &&
      Object.keys(Object(value)).every((name) => members.has(name))
    );
  } catch {
    return false;
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
