import { AmbiguousText } from '@gatehouse/request-signature';

const members = ['status', 'code', 'message', 'timestamp'] as const;

/**
 * Version 1 signs replies like request bodies, so no request of version 1 may be an envelope (CWE-301). This is
 * the second line of defense: the signature of every reply is claimed before the reply leaves.
 *
 * @throws AmbiguousText for an object with the members that every envelope has
 */
export function refuseReflectedReply(signedText: string | Uint8Array): void {
  const text = typeof signedText === 'string' ? signedText : viewOf(signedText);
  // The gateway never escapes a member name, so a search over the bytes spares most bodies the parser.
  if (members.every((name) => text.includes(`"${name}"`)) && isEnvelope(text.toString())) {
    throw new AmbiguousText('An envelope of a reply cannot be sent as a request of version 1.');
  }
}

function isEnvelope(text: string): boolean {
  try {
    const { status, code, message, timestamp } = Object(JSON.parse(text));
    return (
      Number.isInteger(status) &&
      typeof code === 'string' &&
      typeof message === 'string' &&
      typeof timestamp === 'number'
    );
  } catch {
    return false;
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
