import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLoopbackUrl } from '@gatehouse/configuration';
import type { RequestEntry, RequestLog } from '@gatehouse/identity';
import { type Finding, finding } from '../finding.ts';
import type { PublicServer } from '../installation.ts';
import { probe } from '../probe.ts';

/** An address for documentation (RFC 5737), which no caller has. */
const CLAIMED_ADDRESS = '203.0.113.254';
const DEADLINE_MILLISECONDS = 4000;
const INTERVAL_MILLISECONDS = 200;

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
  const reply = await probe(url + path, headers).catch(() => undefined);
  const requestId = reply?.headers['x-request-id'];
  if (reply?.status !== 401 || typeof requestId !== 'string') {
    return [];
  }
  const entry = await findEntry(requestId, requestLog);
  if (entry === undefined) {
    const what = `The ${name} at ${url} does not write to the request log of this store.`;
    return [finding('server_uses_other_store', what)];
  }
  return checkAddress(entry, { name, url });
}

function checkAddress(
  { addressGroup }: RequestEntry,
  { name, url }: Pick<PublicServer, 'name' | 'url'>,
): readonly Finding[] {
  if (addressGroup === CLAIMED_ADDRESS) {
    const what = `The ${name} at ${url} believes the X-Forwarded-For of any caller.`;
    return [finding('forged_address_accepted', what)];
  }
  const isProxy = /^(?:127\.|::1$)/.test(addressGroup);
  return isProxy && !isLoopbackUrl(url)
    ? [finding('proxy_not_trusted', `The ${name} at ${url} sees the address ${addressGroup}.`)]
    : [];
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
