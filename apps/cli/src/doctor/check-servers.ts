/** The servers of an installation, as their clients and a load balancer see them. */
import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import type { RequestLog } from '@gatehouse/identity';
import { isLoopbackUrl, operationsPortOf } from '@gatehouse/server/configuration';
import { parseJson } from '@gatehouse/signing/core';
import { printable } from '../command-line/format.ts';
import { release } from '../open-identity-store.ts';
import { type Finding, finding } from './findings.ts';

const PROBE_MILLISECONDS = 5000;
const LOG_MILLISECONDS = 4000;
const MAXIMUM_CLOCK_MILLISECONDS = 3000;
const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
const MINIMUM_CERTIFICATE_DAYS = 21;
const MAXIMUM_READ_CHARACTERS = 65_536;
const MAXIMUM_SHOWN_CHARACTERS = 200;

/** An address for documentation (RFC 5737), which no caller has. */
const CLAIMED_ADDRESS = '203.0.113.254';
/** Loopback, private and link-local addresses, and an IPv6 loopback as an address group. */
const PRIVATE_ADDRESS =
  /^(?:10\.|127\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|192\.168\.|0:0:0:0\/56|\[?f[cd])/;

export interface PublicServer {
  readonly name: 'authorization server' | 'gateway';
  /** The variable that names its address. */
  readonly variable: 'AUTHORIZATION_SERVER_URL' | 'GATEWAY_URL';
  readonly url: string;
}

/** Address, issuer, certificate and clock, and what must not be public. */
export async function checkPublicServer(server: PublicServer): Promise<readonly Finding[]> {
  const { variable, url, name } = server;
  const isGateway = name === 'gateway';
  const document = isGateway ? 'oauth-protected-resource' : 'openid-configuration';
  const reply = await probe(`${url}/.well-known/${document}`);
  const { failure, status, headers, json, at, certificateDays } = reply;
  if (failure !== undefined) {
    const isStopped = isLoopbackUrl(url) && failure !== NO_REPLY;
    const what = `${variable} ${url}: ${failure}.`;
    return [finding(isStopped ? 'url_not_checked' : 'url_unreachable', what)];
  }
  // From a proxy whose server is stopped or does not answer.
  if ([502, 503, 504].includes(status)) {
    const what = `${variable} ${url} answers with ${status}: the ${name} is stopped or not ready.`;
    return [finding('url_unreachable', what)];
  }
  const issuer = isGateway ? json.resource : json.issuer;
  if (status !== 200 || typeof issuer !== 'string') {
    const location = headers.location === undefined ? '' : ` (to ${shownUrl(headers.location)})`;
    const what = `${variable} ${url} answers with ${status}${location}, and not as the ${name}.`;
    return [finding('url_of_another_service', what)];
  }
  const foreign = `The ${name} at ${url} has the address ${shownUrl(issuer)} in its metadata.`;
  const expiry = `The certificate of ${url} expires in ${certificateDays} days.`;
  return [
    ...(issuer === url ? [] : [finding('issuer_differs', foreign)]),
    ...(certificateDays < MINIMUM_CERTIFICATE_DAYS
      ? [finding('certificate_expires_soon', expiry)]
      : []),
    // The header has no fraction of a second.
    ...checkClock(url, Date.parse(headers.date ?? '') + 500, at),
    ...(isLoopbackUrl(url) ? [] : await checkOperations(server)),
    ...(isGateway && !isLoopbackUrl(url) ? await checkVerificationPath(server) : []),
  ];
}

/** The operations port must not be reachable through the public address. */
async function checkOperations({ url, name }: PublicServer): Promise<readonly Finding[]> {
  const { hostname, port } = new URL(url);
  const usual = name === 'gateway' ? 8844 : 9000;
  const ports = new Set([operationsPortOf(usual), operationsPortOf(Number(port) || usual)]);
  const addresses = [...ports].map((each) => `http://${hostname}:${each}/metrics`);
  const found = await Promise.all(
    [`${url}/metrics`, ...addresses].map(async (address) => {
      const { status, text } = await probe(address);
      const isOpen = status === 200 && text.includes('gatehouse_');
      return isOpen ? [finding('operations_public', `${address} answers.`)] : [];
    }),
  );
  return found.flat();
}

/**
 * Callers must not reach `/_verify` of the gateway through its proxy, because the gateway trusts this
 * proxy. While forward auth is off, the gateway answers `/_verify` like any unknown path.
 */
async function checkVerificationPath({ variable, url }: PublicServer): Promise<readonly Finding[]> {
  // A proxy can block the first one only.
  const paths = ['/_verify', '/_verify/doctor', `/${randomUUID()}`];
  const replies = await Promise.all(paths.map((path) => probe(url + path)));
  const statuses = replies.map(({ status }) => status || 404);
  return paths.flatMap((path, index) => {
    const what = `${variable} ${url} answers ${path} with ${statuses[index]}.`;
    const isHidden = [404, statuses[2]].includes(statuses[index]);
    return isHidden ? [] : [finding('verification_public', what)];
  });
}

/** Compares the clock of a server with that of this machine at `at`. */
export function checkClock(server: string, time: number, at: number): readonly Finding[] {
  const seconds = Math.round(Math.abs(time - at) / 1000);
  const direction = time > at ? 'ahead of' : 'behind';
  const what = `The clock of ${server} is ${seconds} s ${direction} the clock of this machine.`;
  return Math.abs(time - at) > MAXIMUM_CLOCK_MILLISECONDS ? [finding('clock_differs', what)] : [];
}

/**
 * Sends a request that fails, with a forged `X-Forwarded-For`, and finds in the request log which
 * address the server saw.
 */
export async function checkForwarding(
  { name, url }: PublicServer,
  requestLog: Pick<RequestLog, 'find'>,
): Promise<readonly Finding[]> {
  const path = name === 'gateway' ? '/api/device' : '/userinfo';
  const headers = { 'X-Request-Id': randomUUID(), 'X-Forwarded-For': CLAIMED_ADDRESS };
  const reply = await probe(url + path, headers);
  if (reply.failure !== undefined) {
    // The check of the public address reports it.
    return [];
  }
  const server = `The ${name} at ${url}`;
  const requestId = reply.headers['x-request-id'];
  if (reply.status !== 401 || typeof requestId !== 'string') {
    const what = `${server} answers ${path} with ${reply.status}, not with 401.`;
    return [finding('forwarding_not_checked', what)];
  }
  const seen = await findAddress(requestId, requestLog);
  if (seen === undefined) {
    const what = `${server} does not write to the request log of this store.`;
    return [finding('server_uses_other_store', what)];
  }
  const { hostname } = new URL(url);
  if (seen === CLAIMED_ADDRESS) {
    const { address } = await lookup(hostname.replace(/^\[|\]$/g, ''));
    // A proxy on this machine is trusted, and this request may not have passed it.
    return /^127\.|^::1$/.test(address)
      ? [finding('forwarding_not_checked', `${server} has a loopback address here.`)]
      : [finding('forged_address_accepted', `${server} believes what any caller claims.`)];
  }
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const isOwn = own.some(({ internal, address }) => !internal && address === seen);
  return PRIVATE_ADDRESS.test(seen) && !isOwn && !PRIVATE_ADDRESS.test(hostname)
    ? [finding('proxy_not_trusted', `${server} sees the address ${seen}.`)]
    : [];
}

async function findAddress(requestId: string, requestLog: Pick<RequestLog, 'find'>) {
  const deadline = performance.now() + LOG_MILLISECONDS;
  for (;;) {
    const [entry] = await requestLog.find(requestId);
    if (entry !== undefined || performance.now() > deadline) {
      return entry?.addressGroup;
    }
    await sleep(200);
  }
}

/** Readiness, version and clock of an app on this machine. One that is stopped runs elsewhere. */
export async function checkApp(name: string, port: number): Promise<readonly Finding[]> {
  const operations = `http://127.0.0.1:${port}`;
  const ready = await probe(`${operations}/ready`);
  if (ready.failure !== undefined) {
    const what = `The ${name} does not answer on port ${port}.`;
    return ready.failure === NO_REPLY ? [finding('app_not_ready', what)] : [];
  }
  const { text } = await probe(`${operations}/metrics`);
  const version = /^gatehouse_build_info\{[^}]*\bversion="([\w.+-]+)"/m.exec(text)?.[1] ?? release;
  const failing = Object.entries(Object(ready.json.checks))
    .filter(([check, state]) => state !== 'ok' && check !== 'workers')
    .map(([check, state]) => `${check} is ${state}`);
  // Any program can listen on the port, so its text is not trusted.
  const why = printable(failing.join(', ')).slice(0, MAXIMUM_SHOWN_CHARACTERS);
  const differs = `The ${name} is version ${version}, this command ${release}.`;
  return [
    ...(ready.status === 503
      ? [finding('app_not_ready', `The ${name} is not ready: ${why}.`)]
      : []),
    ...(version === release ? [] : [finding('versions_differ', differs)]),
  ];
}

const NO_REPLY = `no reply within ${PROBE_MILLISECONDS / 1000} s`;

/** A reply as a client receives it, without following redirects. Without one, the status is 0. */
async function probe(url: string, sentHeaders: Readonly<Record<string, string>> = {}) {
  const startedAt = Date.now();
  const send = url.startsWith('https:') ? requestHttps : requestHttp;
  try {
    const sent = send(url, {
      agent: false,
      headers: { 'User-Agent': 'gatehouse-doctor', ...sentHeaders },
      signal: AbortSignal.timeout(PROBE_MILLISECONDS),
    });
    // Fails after the reply began: reading the reply reports it.
    sent.on('error', () => undefined);
    const [reply] = (await once(sent.end(), 'response')) as [IncomingMessage];
    const at = (startedAt + Date.now()) / 2;
    const expiry = (reply.socket as Partial<TLSSocket>).getPeerCertificate?.().valid_to ?? '';
    const certificateDays = Math.floor((Date.parse(expiry) - at) / DAY_MILLISECONDS);
    let text = '';
    for await (const part of reply.setEncoding('utf8')) {
      text = (text + part).slice(0, MAXIMUM_READ_CHARACTERS);
    }
    const { statusCode: status = 0, headers } = reply;
    // Any program can answer, so the text may be no object.
    const json: Readonly<Record<string, unknown>> = Object(parseJson(text));
    return { failure: undefined, status, headers, text, json, at, certificateDays };
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException;
    const isLate = name === 'AbortError' || name === 'TimeoutError';
    const failure = isLate ? NO_REPLY : message || String(code);
    const headers: IncomingMessage['headers'] = {};
    return { failure, status: 0, headers, text: '', json: {}, at: 0, certificateDays: 0 };
  }
}

/** A query could contain a code or token. */
function shownUrl(text: string): string {
  return printable(text.replace(/[?#].*$/s, '')).slice(0, MAXIMUM_SHOWN_CHARACTERS);
}
