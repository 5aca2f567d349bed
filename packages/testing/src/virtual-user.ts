import { authorizeAsUser, createPageVisitor, signInAt } from './page-visitor.ts';
import { basic, signatureHeaders } from './requests.ts';

type Tokens = Readonly<Record<string, string | undefined>>;

/**
 * A user with an application that repeats all steps, for restarts under load and floods. The
 * address of its requests differs in each round, because limits are by address.
 */
export function createVirtualUser(
  options: ReturnType<typeof userClient> & {
    readonly authorizationServerUrl: string;
    readonly gatewayUrl: string;
  },
) {
  const { authorizationServerUrl: issuer, gatewayUrl, client, redirectUri, user } = options;
  /** Expectations that were not met, with the actual results. */
  const disappointments: { step: string; status: number; body: string }[] = [];
  let rounds = 0;
  let requests = 0;
  let sequence = 0;
  let refreshToken: string | undefined;

  const fromAddress: typeof fetch = (url, init = {}) => {
    const headers = Object.fromEntries(new Headers(init.headers));
    return fetch(url, {
      ...init,
      headers: { 'X-Forwarded-For': options.address(rounds), ...headers },
    });
  };
  const visitor = createPageVisitor(fromAddress);
  const disappoint = (step: string, status: number, body: unknown) =>
    disappointments.push({ step, status, body: String(body).slice(0, 300) });

  async function expectOk(step: string, url: string, init: RequestInit): Promise<Tokens> {
    requests += 1;
    const reply = await fromAddress(url, { ...init, redirect: 'manual' }).catch(
      (error: Error) => new Response(`${error}: ${error.cause}`, { status: 599 }),
    );
    const body = await reply.text().catch(String);
    if (!reply.ok) {
      disappoint(step, reply.status, body);
    }
    try {
      return JSON.parse(body);
    } catch {
      return {};
    }
  }

  const post = (step: string, path: string, form: Record<string, string>) =>
    expectOk(step, `${issuer}${path}`, {
      method: 'POST',
      headers: { authorization: basic(client.clientId, client.secureKey) },
      body: new URLSearchParams(form),
    });

  const askTokens = (grant_type: string, form: Record<string, string> = {}) =>
    post(grant_type, '/token', { grant_type, ...form });

  const useToken = (step: string, token = '') =>
    expectOk(step, `${gatewayUrl}/api/device`, { headers: { authorization: `Bearer ${token}` } });

  async function land(responseType: 'code' | 'token'): Promise<URL> {
    requests += 1;
    const query = new URLSearchParams({
      response_type: responseType,
      client_id: client.clientId,
      redirect_uri: redirectUri,
      scope: 'device:read',
    });
    try {
      return await authorizeAsUser(`${issuer}/authorize?${query}`, user, visitor);
    } catch (error) {
      disappoint(responseType, 0, error);
      return new URL(redirectUri);
    }
  }

  const sign = (text: string) => signatureHeaders(client, text, nextTimestamp());

  const postSigned = (step: string, path: string, value: unknown) => {
    const body = JSON.stringify(value);
    const headers = { ...sign(body), 'Content-Type': 'application/json' };
    return expectOk(step, gatewayUrl + path, { method: 'POST', headers, body });
  };

  const steps = {
    async client_credentials() {
      await useToken('machine: bearer', (await askTokens('client_credentials')).access_token);
    },
    async password() {
      await useToken('password: bearer', (await askTokens('password', user)).access_token);
    },
    async authorization_code() {
      const code = (await land('code')).searchParams.get('code') ?? '';
      const tokens = await askTokens('authorization_code', { code, redirect_uri: redirectUri });
      refreshToken ??= tokens.refresh_token;
      await useToken('code: bearer', tokens.access_token);
    },
    /** One chain of refresh tokens through all rounds. A break means that a refresh was lost. */
    async refresh() {
      if (refreshToken !== undefined) {
        const tokens = await askTokens('refresh_token', { refresh_token: refreshToken });
        refreshToken = tokens.refresh_token;
        await useToken('refresh: bearer', tokens.access_token);
      }
    },
    async implicit() {
      const fragment = new URLSearchParams((await land('token')).hash.slice(1));
      await useToken('implicit: bearer', fragment.get('access_token') ?? '');
    },
    async connectDevice() {
      const scope = { client_id: client.clientId, scope: 'device:read' };
      const started = await post('device: start', '/device/auth', scope);
      const { device_code = '', user_code = '', verification_uri = '' } = started;
      const question = await visitor.submit(await visitor.get(verification_uri), { user_code });
      const confirmed = await visitor.submit(question, { confirm: 'yes' });
      await signInAt(confirmed, user, visitor, ({ body }) => body.includes('is connected'));
      const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
      const form = { grant_type, device_code };
      await useToken('device: bearer', (await post('device_code', '/token', form)).access_token);
    },
    async callSigned() {
      sequence += 1;
      const id = `${user.username}-${sequence % 50}-${Date.now()}`;
      const device = { id, name: id, productId: 'p', productName: 'P' };
      await postSigned('signed: create', '/device-instance', device);
      const query = `pageSize=${sequence}`;
      await expectOk('signed: list', `${gatewayUrl}/api/device?${query}`, { headers: sign(query) });
      const { result = '' } = await postSigned('signed: token', '/api/v1/token', {});
      const url = `${gatewayUrl}/api/v1/device/${id}`;
      const headers = { 'X-Access-Token': result };
      await expectOk('access token: read', url, { headers });
      await expectOk('access token: delete', url, { method: 'DELETE', headers });
    },
  };

  return {
    /** Uses every grant and authentication method once, and continues after a failed step. */
    async round() {
      rounds += 1;
      for (const [step, run] of Object.entries(steps)) {
        await run().catch((error: unknown) => disappoint(step, 0, error));
      }
    },
    get requests() {
      return requests;
    },
    disappointments,
  };
}

let latestTimestamp = 0;

/** Users share a client. Equal requests of one millisecond would have equal signatures. */
function nextTimestamp(): number {
  latestTimestamp = Math.max(Date.now(), latestTimestamp + 1);
  return latestTimestamp;
}

const redirectUri = 'https://app.example/callback';
const secureKey = 'virtualUserKey0123456789';
const password = 'correct horse battery';

/**
 * The bootstrap file of an organization with the given number of users. Each user has a separate
 * application that uses every grant, because limits are also by client.
 */
export function manyUsers(count: number) {
  const everybody = Array.from({ length: count }, (_value, i) => userClient(i));
  return {
    organizations: [{ id: 'org-1', name: 'One' }],
    clients: everybody.map(({ client }) => ({
      ...client,
      name: client.clientId,
      orgId: 'org-1',
      grantTypes: [
        'authorization_code',
        'client_credentials',
        'refresh_token',
        'password',
        'implicit',
        'urn:ietf:params:oauth:grant-type:device_code',
      ],
      redirectUris: [redirectUri],
      scopes: ['device:read', 'device:write'],
    })),
    users: everybody.map(({ user }) => ({ ...user, name: user.username, orgId: 'org-1' })),
  };
}

/** One of these users, with separate addresses, because limits are also by address. */
export function userClient(index: number) {
  return {
    client: { clientId: `app-${index}`, secureKey },
    redirectUri,
    user: { username: `user-${index}`, password },
    address: (round: number) =>
      `10.${index + 1}.${Math.floor(round / 250) % 250}.${(round % 250) + 1}`,
  };
}
