/**
 * Fetches what a client declares: its metadata document, its keys, its logout address. An attacker
 * can choose such an address in order to reach what only this server can reach (SSRF, CWE-918).
 *
 *   https and a name ─▶ resolve ─▶ every address is public ─▶ connect to one of them ─▶
 *   no redirect, no compression ─▶ the size fits ─▶ reply, all of it in time
 *
 * The connection looks nothing up: it gets the checked addresses, so another answer of the name
 * server changes nothing (DNS rebinding). The certificate must be for the name. No setting and no
 * variable turns this off.
 *
 * Not here: caches, and how often a caller may cause a fetch.
 */
import { lookup, Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { isIP, type LookupFunction } from 'node:net';
import { createAddressMatcher } from '@gatehouse/server';
import type { buildConnector, Client } from 'undici';

/** With the first fetch, because it needs 6 MB and most installations fetch nothing. */
const loadUndici = (): typeof import('undici') => createRequire(import.meta.url)('undici');

const MAXIMUM_MILLISECONDS = 3000;
/** Of one address. The next one of the same host gets the rest. */
const CONNECT_MILLISECONDS = 1000;
const MAXIMUM_BYTES = 64 * 1024;
const MAXIMUM_HEADER_BYTES = 8 * 1024;
const TRIED_ADDRESSES = 4;
/** At the same time, in this process. Fetches for strangers never delay those for clients. */
const MAXIMUM_RUNNING = { host: 8, strangers: 32 };
const PASSED_HEADERS = ['content-type', 'cache-control', 'expires', 'retry-after'];

export interface GuardedRequest {
  readonly method?: 'GET' | 'POST' | undefined;
  readonly headers?: Headers | Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A longer reply is an error. 64 KiB if undefined. */
  readonly maximumBytes?: number | undefined;
  /**
   * Hosts that may have private addresses, because an operator listed them. For what a registered
   * client declares. Undefined: a stranger chose the address.
   */
  readonly privateHosts?: readonly string[] | undefined;
}

/** Why there is no reply. The message is for the log: it names the host, never the whole address. */
export class GuardedFetchError extends Error {
  override name = 'GuardedFetchError';
}

/** @throws GuardedFetchError */
export type GuardedFetch = (address: string, request?: GuardedRequest) => Promise<Response>;

/** What tests replace. */
export interface Outbound {
  /** Returns the addresses of a name. */
  readonly resolve?: (hostname: string, options: ResolveOptions) => Promise<readonly string[]>;
  /** Creates what connects to the address that the option `lookup` returns. */
  readonly createConnector?: (options: ConnectorOptions) => buildConnector.connector;
  readonly milliseconds?: number;
}

export type ConnectorOptions = buildConnector.BuildOptions & { readonly lookup: LookupFunction };

interface ResolveOptions {
  readonly isPrivate: boolean;
  readonly signal: AbortSignal;
}

export function createGuardedFetch({
  resolve = resolveName,
  createConnector = (options) => loadUndici().buildConnector(options),
  milliseconds = MAXIMUM_MILLISECONDS,
}: Outbound = {}): GuardedFetch {
  const occupy = createPlaces();
  return async (address, request = {}) => {
    const { privateHosts = [], maximumBytes = MAXIMUM_BYTES } = request;
    const url = parseAddress(address);
    const { host, hostname } = url;
    const isPrivate = privateHosts.includes(hostname);
    const leave = occupy(host, request.privateHosts === undefined);
    const deadline = AbortSignal.timeout(milliseconds);
    const signal = AbortSignal.any([deadline, ...(request.signal ? [request.signal] : [])]);
    const ended = once(signal, 'abort').then(() => Promise.reject(signal.reason));
    let client: Client | undefined;
    const work = async () => {
      signal.throwIfAborted();
      const addresses = await resolve(hostname, { isPrivate, signal });
      if (addresses.length === 0) {
        throw new GuardedFetchError(`${host} has no address`);
      }
      if (!addresses.every((each) => isAllowed(each, isPrivate))) {
        throw new GuardedFetchError(`${host} has an address that is not public`);
      }
      signal.throwIfAborted();
      client = new (loadUndici().Client)(url.origin, {
        connect: createConnector(connectorOptions(addresses)),
        maxHeaderSize: MAXIMUM_HEADER_BYTES,
        maxResponseSize: maximumBytes,
        pipelining: 0,
      });
      return exchange(client, url, request, signal);
    };
    try {
      // Ends in time, whatever the work does.
      return await Promise.race([work(), ended]);
    } catch (error) {
      if (error instanceof GuardedFetchError) {
        throw error;
      }
      const isTooLong = Object(error).code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE';
      const failure = `did not reply${deadline.aborted ? ' in time' : ''}`;
      const found = isTooLong ? `replied with more than ${maximumBytes} bytes` : failure;
      throw new GuardedFetchError(`${host} ${found}`, { cause: error });
    } finally {
      leave();
      // Not awaited: a peer could delay it. Ends whatever is still running.
      client?.destroy().catch(() => undefined);
    }
  };
}

/** @throws GuardedFetchError unless it is https, with a name */
function parseAddress(address: string): URL {
  // The parser turns every notation of an IPv4 address, such as 0x7f.1, into the usual one.
  const url = URL.parse(address);
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    throw new GuardedFetchError('the address is not https, or has a user name');
  }
  if (isIP(url.hostname) !== 0 || /^\[|\.$/.test(url.hostname)) {
    throw new GuardedFetchError('the address has an IP address, or a name that ends with a dot');
  }
  return url;
}

/** c-ares: a slow name server of a stranger must not occupy the threads that hash passwords. */
async function resolveName(
  hostname: string,
  { isPrivate, signal }: ResolveOptions,
): Promise<readonly string[]> {
  if (isPrivate) {
    // The hosts file, too.
    return (await lookup(hostname, { all: true })).map(({ address }) => address);
  }
  const resolver = new Resolver({ timeout: CONNECT_MILLISECONDS, tries: 2 });
  signal.addEventListener('abort', () => resolver.cancel(), { once: true });
  const found = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ]);
  return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
}

/** What an operator may list: RFC 1918, RFC 6598, RFC 4193, loopback. */
const isInPrivateRange = createAddressMatcher([
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '127.0.0.0/8'],
  ...['fc00::/7', '::1'],
]);
/** Nothing here is ever reached. The metadata services of clouds, or reserved for other purposes. */
const isForbidden = createAddressMatcher([
  ...['0.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24'],
  ...['192.52.193.0/24', '192.88.99.0/24', '192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24'],
  ...['203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4', '100.100.100.200', '168.63.129.16'],
  // Of clouds, and inside 2000::/3: Teredo and other protocols, documentation, 6to4, AS112.
  ...['fd00:ec2::/32', 'fd20:ce::/32', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
  '2620:4f:8000::/48',
]);
/** All public IPv6 addresses. IPv4-mapped ones, NAT64, link-local and multicast are outside. */
const isPublicIpv6 = createAddressMatcher(['2000::/3']);

/** Whether a fetch may go to the address. IANA special-purpose registries, RFC 6890. */
export function isAllowed(address: string, isPrivate = false): boolean {
  const version = isIP(address);
  if (version === 0 || address.includes('%') || isForbidden(address)) {
    return false;
  }
  // A list of IPv4 ranges also matches IPv4-mapped addresses.
  return isInPrivateRange(address) ? isPrivate : version === 4 || isPublicIpv6(address);
}

/** Connects to the first of these addresses that accepts a connection. */
function connectorOptions(addresses: readonly string[]): ConnectorOptions {
  const tried = addresses
    .slice(0, TRIED_ADDRESSES)
    .map((address) => ({ address, family: isIP(address) }));
  return {
    allowH2: false,
    maxCachedSessions: 0,
    timeout: MAXIMUM_MILLISECONDS,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: CONNECT_MILLISECONDS,
    lookup: (_hostname, _options, callback) => callback(null, tried),
  };
}

async function exchange(
  client: Client,
  { host, pathname, search }: URL,
  { method = 'GET', headers, body: content }: GuardedRequest,
  signal: AbortSignal,
): Promise<Response> {
  // A compressed reply of a few bytes can have gigabytes.
  const own = { 'user-agent': 'gatehouse', 'accept-encoding': 'identity' };
  const reply = await client.request({
    ...{ method, path: pathname + search, signal, body: content ?? null },
    headers: { ...Object.fromEntries(new Headers(headers as Record<string, string>)), ...own },
  });
  const { statusCode: status } = reply;
  const body = reply.body.on('error', () => undefined);
  const encoding = [reply.headers['content-encoding'] ?? 'identity'].flat().join();
  if (status >= 300 && status < 400) {
    throw new GuardedFetchError(`${host} redirects, which is not followed`);
  }
  if (encoding.toLowerCase() !== 'identity') {
    throw new GuardedFetchError(`${host} replied with a compressed body`);
  }
  const passed = PASSED_HEADERS.flatMap((name) =>
    [reply.headers[name] ?? []].flat().map((value): [string, string] => [name, value]),
  );
  const bytes = await body.bytes();
  const isEmpty = status === 204 || status === 205;
  return new Response(isEmpty ? null : Buffer.from(bytes), { status, headers: passed });
}

/** Limits the fetches that run at the same time: for each host, and for strangers. */
function createPlaces() {
  const running = new Set<{ readonly host: string; readonly isStranger: boolean }>();
  return (host: string, isStranger: boolean): (() => void) => {
    const alike = [...running].filter((each) => each.isStranger === isStranger);
    const isFull = isStranger && alike.length >= MAXIMUM_RUNNING.strangers;
    if (isFull || alike.filter((each) => each.host === host).length >= MAXIMUM_RUNNING.host) {
      throw new GuardedFetchError(`too many fetches, or too many of ${host}, are running`);
    }
    const place = { host, isStranger };
    running.add(place);
    return () => running.delete(place);
  };
}
