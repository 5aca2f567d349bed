import { isLoopbackUrl, operationsPortOf } from '@gatehouse/server/configuration';
import { printable } from '../../command-line/printable.ts';
import { type Finding, finding } from '../finding.ts';
import type { PublicServer } from '../installation.ts';
import { describeProbeFailure, isProbeTimeout, type ProbeReply, probe } from '../probe.ts';
import { checkClock } from './check-clock.ts';
import { checkExplorer } from './check-explorer.ts';
import { checkVerificationPath } from './check-verification-path.ts';

const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
const MINIMUM_CERTIFICATE_DAYS = 21;
const MAXIMUM_URL_CHARACTERS = 200;

/** Replies of a proxy whose server is stopped or does not answer. */
const UNANSWERED: ReadonlySet<number> = new Set([502, 503, 504]);

const documents = {
  'authorization server': '/.well-known/openid-configuration',
  gateway: '/.well-known/oauth-protected-resource',
} as const;

/** A server as its clients see it: address, TLS, redirects, headers and clock. */
export async function checkPublicServer(
  server: PublicServer,
  plainHttpPort = 80,
): Promise<readonly Finding[]> {
  const { variable, url, name } = server;
  let reply: ProbeReply;
  try {
    reply = await probe(url + documents[name]);
  } catch (error) {
    const what = `${variable} ${url}: ${describeProbeFailure(error)}.`;
    const isStopped = isLoopbackUrl(url) && !isProbeTimeout(error);
    return [finding(isStopped ? 'url_not_checked' : 'url_unreachable', what)];
  }
  if (reply.status >= 300 && reply.status < 400) {
    const target = String(reply.headers.location ?? '');
    return [finding('url_redirects', `${variable} ${url} redirects to ${printableUrl(target)}.`)];
  }
  if (UNANSWERED.has(reply.status)) {
    const what = `${variable} ${url} answers with ${reply.status}: the ${name} is stopped or not ready.`;
    return [finding('url_unreachable', what)];
  }
  return [
    ...checkDocument(server, reply),
    ...checkCertificate(server, reply),
    ...checkHeaders(server, reply),
    // The header has no fraction of a second.
    ...checkClock(url, Date.parse(String(reply.headers.date)) + 500, reply.at),
    ...(await checkPlainHttp(server, plainHttpPort)),
    ...(await checkOperations(server)),
    ...(name === 'gateway' && !isLoopbackUrl(url)
      ? [...(await checkVerificationPath(server)), ...(await checkExplorer(server))]
      : []),
  ];
}

function checkDocument({ variable, url, name }: PublicServer, reply: ProbeReply): Finding[] {
  const document = parse(reply.text);
  const issuer = name === 'gateway' ? document?.resource : document?.issuer;
  if (reply.status !== 200 || typeof issuer !== 'string') {
    const what = `${variable} ${url} answers with ${reply.status}, and not as the ${name}.`;
    return [finding('url_of_another_service', what)];
  }
  return issuer === url
    ? []
    : [
        finding(
          'issuer_differs',
          `The ${name} at ${url} has the address ${printableUrl(issuer)} in its metadata.`,
          `Set ${variable} of the servers to the address that clients use.`,
        ),
      ];
}

function checkCertificate({ url }: PublicServer, { certificateExpiresAt, at }: ProbeReply) {
  const days =
    certificateExpiresAt === undefined
      ? Number.POSITIVE_INFINITY
      : Math.floor((certificateExpiresAt - at) / DAY_MILLISECONDS);
  return days < MINIMUM_CERTIFICATE_DAYS
    ? [finding('certificate_expires_soon', `The certificate of ${url} expires in ${days} days.`)]
    : [];
}

function checkHeaders({ url }: PublicServer, { headers }: ProbeReply) {
  const isPublic = url.startsWith('https:') && !isLoopbackUrl(url);
  return [
    ...(isPublic && headers['strict-transport-security'] === undefined
      ? [finding('hsts_missing', `Replies of ${url} have no Strict-Transport-Security.`)]
      : []),
    ...(headers['x-request-id'] === undefined
      ? [finding('headers_removed', `Replies of ${url} have no X-Request-Id.`)]
      : []),
  ];
}

/** A redirect from http to https that keeps the query repeats a token that was sent by mistake. */
async function checkPlainHttp({ url }: PublicServer, port: number): Promise<readonly Finding[]> {
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'https:') {
    return [];
  }
  const query = '?access_token=doctor-probe';
  const reply = await probe(`http://${hostname}:${port}/${query}`).catch(() => undefined);
  const location = String(reply?.headers.location ?? '');
  return location.startsWith(url) && location.includes('doctor-probe')
    ? [finding('redirect_keeps_token', `http://${hostname} redirects to https with the query.`)]
    : [];
}

/** The operations port must not be reachable through the public address. */
async function checkOperations({ url, name }: PublicServer): Promise<readonly Finding[]> {
  if (isLoopbackUrl(url)) {
    return [];
  }
  const { hostname, port } = new URL(url);
  const ports = new Set([
    operationsPortOf(name === 'gateway' ? 8844 : 9000),
    ...(port === '' ? [] : [operationsPortOf(Number(port))]),
  ]);
  const addresses = [
    `${url}/metrics`,
    ...[...ports].map((each) => `http://${hostname}:${each}/metrics`),
  ];
  const open = await Promise.all(
    addresses.map(async (address) => {
      const reply = await probe(address).catch(() => undefined);
      return reply?.status === 200 && reply.text.includes('gatehouse_') ? [address] : [];
    }),
  );
  return open.flat().map((address) => finding('operations_public', `${address} answers.`));
}

function parse(
  text: string,
): { readonly issuer?: unknown; readonly resource?: unknown } | undefined {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

/** A query could contain a code or token. */
function printableUrl(text: string): string {
  return printable(text.replace(/[?#].*$/s, '')).slice(0, MAXIMUM_URL_CHARACTERS);
}
