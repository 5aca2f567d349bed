/**
 * Delivers logout tokens (OpenID Connect Back-Channel Logout 1.0). The library would call a client
 * while the user waits, and once. The queue of packages/identity keeps the notices.
 *
 *   sign-out ─▶ queue ─▶ every second: claim ─▶ new logout token ─▶ guarded POST ─▶ done, or later again
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Identity, LogoutNotice } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import type { GuardedFetch } from '../guarded-fetch.ts';

const POLL_MILLISECONDS = 1000;
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

interface Dependencies {
  readonly provider: Provider;
  readonly identity: Pick<Identity, 'logouts'>;
  readonly fetchDeclared: GuardedFetch;
  /** Brings rotated keys into the provider, which otherwise happens at requests. */
  readonly installKeys: () => Promise<void>;
}

/** The library calls this method when the user signs out in a browser. */
export function queueLogouts(provider: Provider, { logouts }: Pick<Identity, 'logouts'>): void {
  const client = provider.Client.prototype as unknown as {
    clientId: string;
    backchannelLogoutSessionRequired?: boolean;
    backchannelLogout(userId: string, sid: string): Promise<void>;
  };
  client.backchannelLogout = async function queueLogout(userId, sid) {
    const session = this.backchannelLogoutSessionRequired === true ? { sid } : {};
    await logouts.add(this.clientId, { userId, ...session });
  };
}

/**
 * Runs until the signal aborts. A client whose server is slow delays no other. An unavailable store
 * ends an attempt, not the delivery.
 */
export async function deliverLogouts(dependencies: Dependencies, signal: AbortSignal) {
  const { logouts } = dependencies.identity;
  const busy = new Set<string>();
  while (!signal.aborted) {
    for (const clientId of await logouts.clientIds().catch(() => [])) {
      if (!busy.has(clientId)) {
        busy.add(clientId);
        void deliverTo(clientId, dependencies)
          .catch(() => undefined)
          .finally(() => busy.delete(clientId));
      }
    }
    await sleep(POLL_MILLISECONDS, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

async function deliverTo(clientId: string, dependencies: Dependencies): Promise<void> {
  const { logouts } = dependencies.identity;
  for (const notice of await logouts.due(clientId)) {
    if (await logouts.claim(notice)) {
      const isDone = await deliver(clientId, notice, dependencies);
      await logouts.finish(clientId, notice, isDone);
    }
  }
}

/** @returns false if the client did not accept it */
async function deliver(
  clientId: string,
  { userId, sid }: LogoutNotice,
  { provider, fetchDeclared, installKeys }: Dependencies,
): Promise<boolean> {
  const client = await provider.Client.find(clientId);
  const { backchannelLogoutUri } = client ?? {};
  if (client === undefined || backchannelLogoutUri === undefined) {
    // The operator deleted or disabled it, or removed the address.
    return true;
  }
  await installKeys();
  const token = new provider.IdToken({ sub: userId }, { client });
  Object.assign(token, { mask: { sub: null } });
  token.set('events', { [EVENT]: {} });
  token.set('jti', randomUUID());
  if (sid !== undefined) {
    token.set('sid', sid);
  }
  const logout_token = await token.issue({ use: 'logout' });
  const reply = await fetchDeclared(backchannelLogoutUri, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ logout_token }).toString(),
  }).catch(() => undefined);
  return reply?.status === 200 || reply?.status === 204;
}
