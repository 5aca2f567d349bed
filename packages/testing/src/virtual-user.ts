import { createHash } from 'node:crypto';
import { authorizeAsUser, basic, createPageVisitor } from './page-visitor.ts';

/** Account and client of a virtual user. The client must be registered for every grant. */
export interface VirtualUserOptions {
  readonly authorizationServerUrl: string;
  readonly gatewayUrl: string;
  readonly client: { readonly clientId: string; readonly secureKey: string };
  readonly redirectUri: string;
  readonly user: { readonly username: string; readonly password: string };
  /** Value of X-Forwarded-For. It differs in each round, because limits are by address. */
  address(round: number): string;
}

/** An expectation of a virtual user and the actual result. */
export interface Disappointment {
  readonly step: string;
  readonly status: number;
  readonly body: string;
}

export interface VirtualUser {
  /**
   * Uses every grant and authentication method once. A failed step is recorded, and the next one
   * runs.
   */
  round(): Promise<void>;
  readonly requests: number;
  readonly disappointments: Disappointment[];
}

type Tokens = { readonly access_token?: string; readonly refresh_token?: string };

/**
 * A user with an application that repeats all steps, for restarts under load and endurance tests.
 */
export function createVirtualUser(options: VirtualUserOptions): VirtualUser {
  const { authorizationServerUrl: issuer, gatewayUrl, client, redirectUri, user } = options;
  let rounds = 0;
  const forwarded = () => ({ 'X-Forwarded-For': options.address(rounds) });
  const visitor = createPageVisitor((url, init = {}) =>
    fetch(url, {
      ...init,
      headers: { ...forwarded(), ...Object.fromEntries(new Headers(init.headers)) },
    }),
  );
  const disappointments: Disappointment[] = [];
  let requests = 0;
  let sequence = 0;
  let refreshToken: string | undefined;

  async function expectOk(step: string, url: string, init: RequestInit): Promise<string> {
    requests += 1;
    const headers = { ...forwarded(), ...Object.fromEntries(new Headers(init.headers)) };
    const reply = await fetch(url, { ...init, headers, redirect: 'manual' }).catch(
      (error: Error) => new Response(`${error}: ${error.cause}`, { status: 599 }),
    );
    const body = await reply.text().catch(String);
    if (!reply.ok) {
      disappointments.push({ step, status: reply.status, body: body.slice(0, 300) });
    }
    return body;
  }

  async function askTokens(step: string, parameters: Record<string, string>): Promise<Tokens> {
    const body = await expectOk(step, `${issuer}/token`, {
      method: 'POST',
      headers: { authorization: basic(client.clientId, client.secureKey) },
      body: new URLSearchParams(parameters),
    });
    return parse(body);
  }

  const useToken = (step: string, { access_token: token = '' }: Tokens) =>
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
      disappointments.push({ step: responseType, status: 0, body: String(error).slice(0, 300) });
      return new URL(redirectUri);
    }
  }

  async function signInByCode(): Promise<void> {
    const code = (await land('code')).searchParams.get('code') ?? '';
    const parameters = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    const tokens = await askTokens('authorization_code', parameters);
    refreshToken ??= tokens.refresh_token;
    await useToken('code: bearer', tokens);
  }

  /** One chain of refresh tokens through all rounds. A break means that a refresh was lost. */
  async function refresh(): Promise<void> {
    if (refreshToken !== undefined) {
      const parameters = { grant_type: 'refresh_token', refresh_token: refreshToken };
      const tokens = await askTokens('refresh_token', parameters);
      refreshToken = tokens.refresh_token;
      await useToken('refresh: bearer', tokens);
    }
  }

  async function connectDevice(): Promise<void> {
    const body = await expectOk('device: start', `${issuer}/device/auth`, {
      method: 'POST',
      headers: { authorization: basic(client.clientId, client.secureKey) },
      body: new URLSearchParams({ client_id: client.clientId, scope: 'device:read' }),
    });
    const {
      device_code = '',
      user_code = '',
      verification_uri = '',
    } = parse(body) as Record<string, string>;
    const form = await visitor.get(verification_uri);
    const question = await visitor.submit(form, { user_code });
    let page = await visitor.submit(question, { confirm: 'yes' });
    for (let step = 0; step < 8 && !page.body.includes('is connected'); step += 1) {
      if (page.location !== undefined) {
        page = await visitor.get(page.location);
      } else if (page.body.includes('name="password"')) {
        page = await visitor.submit(page, user);
      } else {
        page = await visitor.submit(page, { decision: 'allow' });
      }
    }
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    await useToken('device: bearer', await askTokens('device_code', { grant_type, device_code }));
  }

  function sign(text: string): Record<string, string> {
    const timestamp = String(nextTimestamp());
    const digest = createHash('sha256')
      .update(text + timestamp + client.secureKey)
      .digest('hex');
    return { 'X-Client-Id': client.clientId, 'X-Timestamp': timestamp, 'X-Sign': digest };
  }

  const postSigned = (step: string, path: string, value: unknown) => {
    const body = JSON.stringify(value);
    const headers = { ...sign(body), 'Content-Type': 'application/json' };
    return expectOk(step, gatewayUrl + path, { method: 'POST', headers, body });
  };

  async function callSigned(): Promise<void> {
    sequence += 1;
    const id = `${user.username}-${sequence % 50}-${Date.now()}`;
    await postSigned('signed: create', '/device-instance', {
      id,
      name: id,
      productId: 'p',
      productName: 'P',
    });
    const query = `pageSize=${sequence}`;
    await expectOk('signed: list', `${gatewayUrl}/api/device?${query}`, { headers: sign(query) });
    const { result } = parse(await postSigned('signed: token', '/api/v1/token', {})) as {
      result?: string;
    };
    const headers = { 'X-Access-Token': result ?? '' };
    await expectOk('access token: read', `${gatewayUrl}/api/v1/device/${id}`, { headers });
    await expectOk('access token: delete', `${gatewayUrl}/api/v1/device/${id}`, {
      method: 'DELETE',
      headers,
    });
  }

  async function implicit(): Promise<void> {
    const fragment = new URLSearchParams((await land('token')).hash.slice(1));
    await useToken('implicit: bearer', { access_token: fragment.get('access_token') ?? '' });
  }

  return {
    async round() {
      rounds += 1;
      const steps = {
        client_credentials: async () =>
          useToken(
            'machine: bearer',
            await askTokens('client_credentials', { grant_type: 'client_credentials' }),
          ),
        password: async () =>
          useToken(
            'password: bearer',
            await askTokens('password', { grant_type: 'password', ...user }),
          ),
        authorization_code: signInByCode,
        refresh,
        implicit,
        connectDevice,
        callSigned,
      };
      for (const [step, run] of Object.entries(steps)) {
        await run().catch((error: unknown) => {
          disappointments.push({ step, status: 0, body: String(error).slice(0, 300) });
        });
      }
    },
    get requests() {
      return requests;
    },
    disappointments,
  };
}

function parse(text: string): Tokens {
  try {
    return JSON.parse(text) as Tokens;
  } catch {
    return {};
  }
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
