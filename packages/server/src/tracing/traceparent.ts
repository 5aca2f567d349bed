/** The part of a `traceparent` header that Gatehouse uses. */
export interface RemoteParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

const TRACEPARENT =
  /^(?!ff)(?<version>[0-9a-f]{2})-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<rest>-.*)?$/;

/**
 * Reads a `traceparent` header (W3C Trace Context §3.2). An invalid header counts as none. Later
 * versions may append fields.
 */
export function parseTraceparent(header: unknown): RemoteParent | undefined {
  const fields = typeof header === 'string' ? TRACEPARENT.exec(header)?.groups : undefined;
  const { version, traceId = '', spanId = '', flags = '', rest } = fields ?? {};
  const isInvalid =
    fields === undefined ||
    /^0+$/.test(traceId) ||
    /^0+$/.test(spanId) ||
    (version === '00' && rest !== undefined);
  return isInvalid
    ? undefined
    : { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: RemoteParent): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
