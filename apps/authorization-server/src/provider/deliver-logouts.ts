/**
 * Delivers logout tokens (OpenID Connect Back-Channel Logout 1.0). The library would call a client
 * while the user waits, and once. The queue of packages/identity keeps the notices.
 *
 *   sign-out ─▶ queue ─▶ new logout token ─▶ guarded POST ─▶ done, or later again
 */
import { randomUUID } from 'node:crypto';
import { deliverQueues, type Identity, type LogoutNotice } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import type { GuardedFetch } from '../guarded-fetch.ts';

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

export function deliverLogouts(dependencies: Dependencies, signal: AbortSignal): Promise<void> {
  const { logouts } = dependencies.identity;
  const attempt = async (clientId: string, notice: LogoutNotice) => {
    await logouts.finish(clientId, notice, await deliver(clientId, notice, dependencies));
    return true;
  };
  return deliverQueues(logouts, attempt, signal);
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
