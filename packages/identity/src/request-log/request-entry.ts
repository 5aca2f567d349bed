/**
 * One request of the request log. It contains no URL, no header except the user agent, no body and
 * nothing derived from a secret.
 */
export interface RequestEntry {
  /** Epoch milliseconds at which the request arrived. */
  readonly at: number;
  readonly requestId: string;
  readonly app: string;
  readonly method?: string | undefined;
  /** The name of the route. */
  readonly operation: string;
  /** A registered client. */
  readonly clientId?: string | undefined;
  /** Whether the client proved its identity. Otherwise the request only names it. */
  readonly verified: boolean;
  readonly credential?: string | undefined;
  /** The id of the secure key that verified the request. */
  readonly keyId?: string | undefined;
  /** Undefined if the caller left before the reply. */
  readonly status?: number | undefined;
  readonly aborted: boolean;
  readonly code?: string | undefined;
  /** Present exactly if the request failed. */
  readonly reason?: string | undefined;
  /** A value that completes the reason: the missing scope, for example. */
  readonly finding?: string | undefined;
  /** Milliseconds until the credential was verified. */
  readonly verifiedMs?: number | undefined;
  /** Milliseconds from sending the request to the upstream until the head of its reply. */
  readonly upstreamMs?: number | undefined;
  readonly durationMs: number;
  readonly addressGroup: string;
  readonly userAgent?: string | undefined;
}

const VERIFIED = 1;
const ABORTED = 2;

/** The line of an entry in the store: an array, because names of members would double its size. */
export function formatEntry(entry: RequestEntry): string {
  return JSON.stringify([
    entry.at,
    entry.requestId,
    entry.app,
    entry.operation,
    (entry.verified ? VERIFIED : 0) + (entry.aborted ? ABORTED : 0),
    entry.status ?? 0,
    entry.durationMs,
    entry.verifiedMs ?? -1,
    entry.upstreamMs ?? -1,
    entry.addressGroup,
    entry.clientId ?? 0,
    entry.credential ?? 0,
    entry.keyId ?? 0,
    entry.code ?? 0,
    entry.reason ?? 0,
    entry.userAgent ?? 0,
    entry.method ?? 0,
    entry.finding ?? 0,
  ]);
}

/** Returns undefined for a damaged line. Ignores members that a later release adds. */
export function parseEntry(line: string): RequestEntry | undefined {
  const members = parseArray(line);
  const [at, requestId, app, operation, flags, status, durationMs] = members;
  const isWhole =
    typeof at === 'number' &&
    typeof requestId === 'string' &&
    typeof app === 'string' &&
    typeof operation === 'string' &&
    typeof flags === 'number' &&
    typeof status === 'number' &&
    typeof durationMs === 'number';
  if (!isWhole) {
    return undefined;
  }
  const [verifiedMs, upstreamMs, group, ...texts] = members.slice(7);
  const [clientId, credential, keyId, code, reason, userAgent, method, finding] =
    texts.map(optionalText);
  return {
    at,
    requestId,
    app,
    method,
    operation,
    verified: (flags & VERIFIED) !== 0,
    aborted: (flags & ABORTED) !== 0,
    status: status === 0 ? undefined : status,
    durationMs,
    verifiedMs: optionalDuration(verifiedMs),
    upstreamMs: optionalDuration(upstreamMs),
    addressGroup: optionalText(group) ?? '',
    clientId,
    credential,
    keyId,
    code,
    reason,
    finding,
    userAgent,
  };
}

function parseArray(line: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(line);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function optionalDuration(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}
