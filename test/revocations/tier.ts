import {
  authorizeAsUser,
  createPageVisitor,
  manyUsers,
  type PageVisitor,
  postAs,
  type StoreEngineName,
  signatureHeaders,
  startConstellation,
  userClient,
} from '@gatehouse/testing';
import { runGatehouse } from '../../apps/cli/test/run-gatehouse.ts';
import type { Credential } from './measure-refusal.ts';

/** A user with a separate client. Requests alternate between the two authorization servers. */
export interface Party {
  readonly clientId: string;
  readonly username: string;
  readonly visitor: PageVisitor;
  secureKey: string;
  server: string;
}

export interface UserTokens {
  readonly access: string;
  readonly refresh: string;
}

export type Tier = Awaited<ReturnType<typeof startTier>>;

const unlimited = '10000000/60';

/**
 * Two authorization servers, two gateways and a device service with one store and this many
 * parties.
 */
export async function startTier(engine: StoreEngineName, parties: number) {
  const system = await startConstellation({
    engine,
    bootstrap: manyUsers(parties),
    apps: [
      ...(['authorization-server', 'authorization-server'] as const),
      ...(['gateway', 'gateway', 'device-service'] as const),
    ],
    environment: {
      LOG_LEVEL: 'warn',
      FORWARD_AUTH: 'true',
      TRUSTED_PROXIES: '127.0.0.1',
      CLIENT_RATE_LIMIT: unlimited,
      ADDRESS_RATE_LIMIT: unlimited,
      CLIENT_ENDPOINT_RATE_LIMIT: '100000/60',
      PAGE_RATE_LIMIT: '100000/60',
    },
  });
  const servers = system.authorizationServerUrls;

  async function post(party: Party, path: string, parameters: Readonly<Record<string, string>>) {
    const reply = await postAs(`${party.server}${path}`, party, parameters);
    const text = await reply.text();
    if (reply.status !== 200) {
      throw new Error(`${path} replies ${reply.status}: ${text}`);
    }
    return (text === '' ? {} : JSON.parse(text)) as Readonly<Record<string, string>>;
  }

  /**
   * Sends the form of the account page with this action. The page is read earlier, so that only the
   * form is timed.
   */
  async function prepareAccountForm({ visitor, server }: Party, action: string, path = '/account') {
    const page = await visitor.get(`${server}${path}`);
    const forms = page.body.match(/<form[\s\S]*?<\/form>/g) ?? [];
    const body = forms.find((form) => form.includes(`action="${action}"`));
    if (body === undefined) {
      throw new Error(`The account page has no form ${action}: ${page.status}`);
    }
    return async () => {
      const { status } = await visitor.submit({ ...page, body }, {});
      if (status !== 303) {
        throw new Error(`${action} replies ${status}`);
      }
    };
  }

  return {
    gatewayUrls: system.members.filter(({ app }) => app === 'gateway').map(({ url }) => url),
    parties: Array.from({ length: parties }, (_value, i): Party => {
      const { client, user } = userClient(i);
      const server = servers[i % servers.length] ?? '';
      return { ...client, username: user.username, visitor: createPageVisitor(), server };
    }),
    post,
    prepareAccountForm,
    async machineToken(party: Party): Promise<string> {
      return (await post(party, '/token', { grant_type: 'client_credentials' })).access_token ?? '';
    },
    async userTokens(party: Party, index: number): Promise<UserTokens> {
      const { redirectUri, user } = userClient(index);
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: party.clientId,
        redirect_uri: redirectUri,
      });
      const url = `${system.authorizationServerUrl}/authorize?${query}`;
      const code = (await authorizeAsUser(url, user, party.visitor)).searchParams.get('code') ?? '';
      const redemption = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
      const tokens = await post(party, '/token', redemption);
      return { access: tokens.access_token ?? '', refresh: tokens.refresh_token ?? '' };
    },
    async xAccessToken(party: Party): Promise<string> {
      const reply = await fetch(`${system.gatewayUrl}/api/v1/token`, {
        method: 'POST',
        headers: { ...signatureHeaders(party, '{}'), 'Content-Type': 'application/json' },
        body: '{}',
      });
      return ((await reply.json()) as { result: string }).result;
    },
    /** @throws Error if the command fails */
    async operator(words: readonly string[], stdin?: string) {
      const { code, errors, json } = await runGatehouse(system.commandEnvironment, words, stdin);
      if (code !== 0) {
        throw new Error(`gatehouse ${words.join(' ')}: ${errors}`);
      }
      return json;
    },
    stop: () => system.stop(),
  };
}

export const bearer =
  (token: string): Credential =>
  () => ({ authorization: `Bearer ${token}` });

export const xAccess =
  (token: string): Credential =>
  () => ({ 'X-Access-Token': token });

/** The signature of the call that `RefusalMeter` sends. */
export function signature({ clientId, secureKey }: Party): Credential {
  const signer = { clientId, secureKey };
  return () => signatureHeaders(signer, 'pageSize=1');
}
