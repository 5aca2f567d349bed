import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type {
  AuditEvent,
  AuditOrigin,
  ClientRegistry,
  Identity,
  RecordedOrigin,
  User,
} from '@gatehouse/identity';
import { addressGroup, expressAddress, observedRequest } from '@gatehouse/server';

/** The address group that a request counts for. */
export const addressGroupOf = (request: IncomingMessage): string =>
  addressGroup(expressAddress(request));

/** The origin of events without a request. */
export const thisServer: AuditOrigin = { actor: 'authorization-server' };

/** The origin of an audited event. */
export function requestOrigin(request: IncomingMessage): RecordedOrigin {
  return {
    ...thisServer,
    address: expressAddress(request) || undefined,
    addressGroup: addressGroupOf(request),
    requestId: observedRequest(request).id,
  };
}

/** Adds an event that a request caused to the audit trail. */
export function recordEvent(
  request: IncomingMessage,
  event: AuditEvent,
  { audit }: Pick<Identity, 'audit'>,
): void {
  if ('userId' in event) {
    observedRequest(request).notes.userId = event.userId;
  }
  audit.record(event, requestOrigin(request));
}

/** Changes a user. The audit trail gets what changed, with the upstream provider that decided it. */
export async function changeUser(
  request: IncomingMessage,
  userId: string,
  change: (user: User) => User,
  identity: Pick<Identity, 'auditedChanges' | 'audit'>,
  decided: { readonly upstream?: string } = {},
): Promise<User> {
  const { after, events } = await identity.auditedChanges.changeUser(userId, change);
  for (const event of events) {
    recordEvent(request, { ...event, ...decided }, identity);
  }
  return after;
}

/**
 * The credentials of HTTP Basic, or why the header is unreadable. RFC 6749 §5.2 defines that as
 * failed client authentication. The library reports `invalid_request`. The problem is evident from
 * the header alone, so naming it tells an attacker nothing.
 */
export function readBasic(
  authorization: string,
): { readonly id: string; readonly secret: string } | string {
  const [scheme = '', encoded = '', ...others] = authorization.trim().split(/ +/);
  if (scheme.toLowerCase() !== 'basic') {
    return 'The Authorization header of a client does not use the scheme Basic.';
  }
  if (others.length > 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
    return 'The credentials in the Authorization header are not Base64.';
  }
  const bytes = Buffer.from(encoded, 'base64');
  if (!isUtf8(bytes)) {
    return 'The decoded credentials in the Authorization header are not UTF-8.';
  }
  const [id = '', secret] = bytes.toString('utf8').split(/:(.*)/s);
  if (secret === undefined) {
    return 'The decoded credentials in the Authorization header have no colon.';
  }
  if (id === '') {
    return 'The client id in the Authorization header is empty.';
  }
  try {
    decodeURIComponent(secret);
    return { id: decodeURIComponent(id.replaceAll('+', '%20')), secret };
  } catch {
    return 'The client id or the secret in the Authorization header has an invalid percent-encoding.';
  }
}

/**
 * The client id of Basic credentials, authenticated or not. Empty if the header has none. It may be
 * a secret in the wrong field, so only registered ids may be logged.
 */
export function basicClientId(authorization = ''): string {
  const read = readBasic(authorization);
  return typeof read === 'string' ? '' : read.id;
}

/**
 * Adds the presented client to the log line of a failed request if it is registered. The reply does
 * not wait for the lookup, so its time does not reveal whether the client exists.
 */
export function nameClient(
  request: IncomingMessage,
  presentedId: string,
  clients: Pick<ClientRegistry, 'find'>,
): Promise<string | undefined> {
  const observed = observedRequest(request);
  const find = async () => {
    const { clientId } = (presentedId && (await clients.find(presentedId))) || {};
    if (clientId !== undefined) {
      observed.notes.clientId ??= clientId;
    }
    return clientId;
  };
  const finding = find().catch(() => undefined);
  observed.completing = finding.then(() => undefined);
  return finding;
}
