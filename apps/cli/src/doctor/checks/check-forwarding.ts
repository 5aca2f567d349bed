import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestEntry, RequestLog } from '@gatehouse/identity';
import { type Finding, finding } from '../finding.ts';
import type { PublicServer } from '../installation.ts';
import { probe } from '../probe.ts';

/** An address for documentation (RFC 5737), which no caller has. */
const CLAIMED_ADDRESS = '203.0.113.254';
/** Loopback, private and link-local addresses, and an IPv6 loopback as an address group. */
const PRIVATE_ADDRESS =
  /^(?:10\.|127\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|192\.168\.|0:0:0:0\/56|\[?f[cd])/;
const DEADLINE_MILLISECONDS = 4000;
const INTERVAL_MILLISECONDS = 200;

/**
 * Sends a request that fails, with a forged `X-Forwarded-For`, and finds in the request log which
 * address the server saw.
 *
 * @param ownAddresses the addresses of this machine, except loopback addresses
 */
export async function checkForwarding(
  { name, url }: PublicServer,
  requestLog: Pick<RequestLog, 'find'>,
  ownAddresses = externalAddresses(),
): Promise<readonly Finding[]> {
  const path = name === 'gateway' ? '/api/device' : '/userinfo';
  const headers = { 'X-Request-Id': randomUUID(), 'X-Forwarded-For': CLAIMED_ADDRESS };
  const reply = await probe(url + path, headers).catch(() => undefined);
  if (reply === undefined) {
    // The check of the public address reports it.
    return [];
  }
  const requestId = reply.headers['x-request-id'];
  if (reply.status !== 401 || typeof requestId !== 'string') {
    const what = `The ${name} at ${url} answers ${path} with ${reply.status}, not with 401.`;
    return [finding('forwarding_not_checked', what)];
  }
  const entry = await findEntry(requestId, requestLog);
  if (entry === undefined) {
    const what = `The ${name} at ${url} does not write to the request log of this store.`;
    return [finding('server_uses_other_store', what)];
  }
  return ownAddresses.includes(entry.addressGroup) ? [] : checkAddress(entry, { name, url });
}

async function checkAddress(
  { addressGroup }: RequestEntry,
  { name, url }: Pick<PublicServer, 'name' | 'url'>,
): Promise<readonly Finding[]> {
  if (addressGroup === CLAIMED_ADDRESS) {
    if (await isOwnAddress(url)) {
      // A proxy on this machine is trusted, and this request may not have passed it.
      const what = `The name of ${url} is a loopback address of this machine.`;
      return [finding('forwarding_not_checked', what)];
    }
    const what = `The ${name} at ${url} believes the X-Forwarded-For of any caller.`;
    return [finding('forged_address_accepted', what)];
  }
  return PRIVATE_ADDRESS.test(addressGroup) && !PRIVATE_ADDRESS.test(new URL(url).hostname)
    ? [finding('proxy_not_trusted', `The ${name} at ${url} sees the address ${addressGroup}.`)]
    : [];
}

async function isOwnAddress(url: string): Promise<boolean> {
  const { address } = await lookup(new URL(url).hostname.replace(/^\[|\]$/g, ''));
  return /^127\.|^::1$/.test(address);
}

async function findEntry(requestId: string, requestLog: Pick<RequestLog, 'find'>) {
  const deadline = performance.now() + DEADLINE_MILLISECONDS;
  for (;;) {
    const [entry] = await requestLog.find(requestId);
    if (entry !== undefined || performance.now() > deadline) {
      return entry;
    }
    await sleep(INTERVAL_MILLISECONDS);
  }
}

function externalAddresses(): readonly string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.filter(({ internal }) => !internal).map(({ address }) => address);
}
