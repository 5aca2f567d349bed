import { setTimeout as sleep } from 'node:timers/promises';
import { authorizeAsUser } from '@gatehouse/testing';
import { callGateway, redirectUri, requestToken, sign, type Users } from './clients.ts';
import type { Tier } from './tier.ts';

export interface VirtualUser {
  /**
   * Stops after the current step. Resolves to the number of rounds, and to every reply other than
   * 200.
   */
  stop(): Promise<{ readonly rounds: number; readonly failures: readonly string[] }>;
}

/** The pause between rounds, because a user is not a load generator. */
const PAUSE_MILLISECONDS = 200;

/**
 * Simulates a user. The user signs in once. Each round refreshes the token, calls with the new
 * token, sends a signed request, and gets a machine token. In every tenth round, the user signs in
 * again, with a password or a code. A lost refresh token ends the chain, so every later round fails.
 */
export async function startVirtualUser(
  tier: Tier,
  users: Users,
  number: number,
  signIn: (work: () => Promise<string>) => Promise<string>,
): Promise<VirtualUser> {
  const failures: string[] = [];
  let stopped = false;
  let rounds = 0;
  let refreshToken = await signIn(byPassword);

  async function token(parameters: Readonly<Record<string, string>>) {
    const { status, body } = await requestToken(tier, users.web, parameters);
    note(`${parameters.grant_type} ${body.error ?? ''}`, status);
    return body;
  }

  function note(what: string, status: number): void {
    if (status !== 200) {
      failures.push(`${what} ${status}`);
    }
  }

  async function byPassword(): Promise<string> {
    return (await token({ grant_type: 'password', ...users.alice })).refresh_token ?? '';
  }

  async function byCode(): Promise<string> {
    const query = {
      response_type: 'code',
      client_id: users.web.clientId,
      redirect_uri: redirectUri,
    };
    const url = `${tier.authorizationServerUrl}/authorize?${new URLSearchParams(query)}`;
    const code = (await authorizeAsUser(url, users.alice)).searchParams.get('code') ?? '';
    const redemption = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    return (await token(redemption)).refresh_token ?? '';
  }

  async function round(): Promise<void> {
    if (rounds % 10 === number % 10) {
      refreshToken = await signIn(rounds % 20 < 10 ? byCode : byPassword);
    }
    const fresh = await token({ grant_type: 'refresh_token', refresh_token: refreshToken });
    refreshToken = fresh.refresh_token ?? refreshToken;
    const bearer = { authorization: `Bearer ${fresh.access_token}` };
    note('bearer', (await callGateway(tier, '/api/device', { headers: bearer })).status);
    const query = `pageIndex=0&pageSize=${number + 1}`;
    const headers = sign(users.web, query);
    note('signed', (await callGateway(tier, `/api/device?${query}`, { headers })).status);
    await token({ grant_type: 'client_credentials' });
  }

  async function run(): Promise<void> {
    while (!stopped) {
      try {
        await round();
      } catch (error) {
        failures.push(String(error));
      }
      rounds += 1;
      await sleep(PAUSE_MILLISECONDS);
    }
  }

  const running = run();
  return {
    async stop() {
      stopped = true;
      await running;
      return { rounds, failures };
    },
  };
}
