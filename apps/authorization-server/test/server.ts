/** Starts authorization servers, and calls them as clients, applications and devices do. */
import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  authorizeAsUser,
  basic,
  type Constellation,
  type ConstellationOptions,
  createPageVisitor,
  integrationEngines,
  type PageVisitor,
  startConstellation,
  startStoreEngine,
  storeEngines,
  until,
  type VisitedPage,
} from '@gatehouse/testing';
import { onEachEngine } from '@gatehouse/testing/suite';
import { afterAll } from '@jest/globals';
import { alice, DEVICE_GRANT, installation, resourceServer, tv, web } from './installation.ts';

export type Fields = Readonly<Record<string, string>>;
export type User = { readonly username: string; readonly password: string };

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON, or the text of another reply. */
  // biome-ignore lint/suspicious/noExplicitAny: a reply under test may contain anything
  readonly body: any;
}

export type DeviceCode = Readonly<Record<string, string>>;

/** The headers of a client that authenticates. */
export const as = ({ clientId, secureKey }: { clientId: string; secureKey: string }): Fields => ({
  authorization: basic(clientId, secureKey),
});
export const asWeb = as(web);

/** The status and the OAuth error, which is undefined for a success. */
export const outcome = ({ status, body }: Reply) => [status, body.error];

export const machineGrant = { grant_type: 'client_credentials' } as const;
export const refreshing = (refreshToken: string, scope?: string): Fields => ({
  grant_type: 'refresh_token',
  refresh_token: refreshToken,
  ...(scope !== undefined && { scope }),
});
export const redeeming = (code: string): Fields => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: web.redirectUri,
});

/** The value of a hidden field of a form. */
export const hiddenField = ({ body }: VisitedPage, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(body)?.[1] ?? '';

/** The cookies that a browser sends to the path. */
export const cookiesOf = ({ cookies }: PageVisitor, path = '/') =>
  [...cookies]
    .map(([key, value]) => [...key.split('|'), value])
    .filter(([, scope = '']) => path.startsWith(scope))
    .map(([name, , value]) => `${name}=${value}`)
    .join('; ');

/** Reduces a page to the form with this action, because `submit` uses the first form. */
export function withForm(page: VisitedPage, action: string, containing = ''): VisitedPage {
  const forms = page.body.match(/<form[\s\S]*?<\/form>/g) ?? [];
  const body = forms.find(
    (form) => form.includes(`action="${action}"`) && form.includes(containing),
  );
  if (body === undefined) {
    throw new Error(`There is no form for ${action} on ${page.url}:\n${page.body}`);
  }
  return { ...page, body };
}

/** Follows redirects and fills in forms until the user has to decide something else. */
async function proceed(
  visitor: PageVisitor,
  first: VisitedPage,
  user: User,
  decision?: string,
): Promise<VisitedPage> {
  let page = first;
  for (let step = 0; step < 12; step += 1) {
    if (page.location !== undefined) {
      page = await visitor.get(page.location);
    } else if (page.body.includes('/credentials"')) {
      page = await visitor.submit(page, user);
    } else if (decision !== undefined && page.body.includes('name="decision"')) {
      page = await visitor.submit(page, { decision });
    } else {
      return page;
    }
  }
  throw new Error(`The redirects do not end: ${page.url}`);
}

/** Submits a username and password that are rejected, and returns the page that asks again. */
export async function failToSignIn(visitor: PageVisitor, page: VisitedPage, typed: Fields) {
  const reply = await visitor.submit(page, typed);
  if (reply.status !== 303 || reply.location?.includes('/sign-in/') !== true) {
    throw new Error(`The sign-in did not fail: ${reply.status} ${reply.location}`);
  }
  const again = await visitor.get(reply.location);
  if (again.status !== 200 || !again.body.includes('do not match an account')) {
    throw new Error(`The page does not name the failure: ${again.status} ${again.body}`);
  }
  return again;
}

export type Calls = ReturnType<typeof callsTo>;

export function callsTo(issuer: string) {
  async function post(path: string, body: Fields | string, headers: Fields = asWeb) {
    const reply = await fetch(issuer + path, {
      method: 'POST',
      redirect: 'manual',
      headers,
      body: typeof body === 'string' ? body : new URLSearchParams(body),
    });
    const isJson = reply.headers.get('content-type')?.startsWith('application/json') === true;
    const content = isJson ? await reply.json() : await reply.text();
    return { status: reply.status, headers: reply.headers, body: content } as Reply;
  }
  const authorizationUrl = (parameters: Fields = {}) => {
    const { clientId: client_id, redirectUri: redirect_uri } = web;
    const query = { response_type: 'code', client_id, redirect_uri, ...parameters };
    return `${issuer}/authorize?${new URLSearchParams(query)}`;
  };
  const get = (path: string, headers: Fields = {}) =>
    createPageVisitor().get(path.startsWith('/') ? issuer + path : path, headers);
  const token = (fields: Fields, headers?: Fields) => post('/token', fields, headers);

  /** Returns the address of the application to which the server redirects the user. */
  const land = (parameters: Fields = {}, user: User = alice, visitor?: PageVisitor) =>
    authorizeAsUser(authorizationUrl(parameters), user, visitor);
  const newCode = async (...how: Parameters<typeof land>) =>
    (await land(...how)).searchParams.get('code') ?? '';
  const redeem = (code: string, more: Fields = {}, headers?: Fields) =>
    token({ ...redeeming(code), ...more }, headers);
  const openSignIn = async (visitor: PageVisitor, parameters: Fields = {}) =>
    visitor.get((await visitor.get(authorizationUrl(parameters))).location ?? '');

  /** Enters the code of a device, and confirms it. */
  async function confirmDevice(device: DeviceCode, visitor: PageVisitor) {
    const form = await visitor.get(device.verification_uri ?? '');
    const question = await visitor.submit(form, { user_code: device.user_code ?? '' });
    return visitor.submit(question, { confirm: 'yes' });
  }

  return {
    issuer,
    post,
    get,
    token,
    authorizationUrl,
    land,
    newCode,
    redeem,
    openSignIn,
    /** Calls the platform endpoint. An object is sent as JSON, a text unchanged. */
    platform: (body: unknown, headers: Fields = {}) =>
      post('/platform/oauth2/token', typeof body === 'string' ? body : JSON.stringify(body), {
        'content-type': 'application/json',
        ...headers,
      }),
    authorize: (parameters: Fields, headers?: Fields) => get(authorizationUrl(parameters), headers),
    userinfo: async (accessToken: string) => {
      const headers = { authorization: `Bearer ${accessToken}` };
      const reply = await fetch(`${issuer}/userinfo`, { headers });
      return { status: reply.status, claims: (await reply.json()) as Record<string, unknown> };
    },
    introspect: async (value: string, headers = as(resourceServer)): Promise<Reply['body']> =>
      (await post('/introspect', { token: value }, headers)).body,
    async isActive(value: string, headers = as(resourceServer)): Promise<boolean> {
      return (await post('/introspect', { token: value }, headers)).body.active;
    },
    revoke: (value: string, headers?: Fields) => post('/revoke', { token: value }, headers),
    /** The tokens of the web application for a user. */
    tokensFor: async (...how: Parameters<typeof land>): Promise<Reply['body']> =>
      (await redeem(await newCode(...how))).body,
    async openConsent(visitor: PageVisitor, parameters: Fields = {}, user: User = alice) {
      return proceed(visitor, await openSignIn(visitor, parameters), user);
    },
    /** Opens a page, and signs in if the server asks for it. */
    open: async (visitor: PageVisitor, path: string, user: User = alice) =>
      proceed(visitor, await visitor.get(path.startsWith('/') ? issuer + path : path), user),
    async startDevice(parameters: Fields = {}, headers: Fields = {}): Promise<DeviceCode> {
      const body = { client_id: tv.clientId, ...parameters };
      return (await post('/device/auth', body, headers)).body;
    },
    poll: ({ device_code = '' }: DeviceCode, { clientId } = tv as { readonly clientId: string }) =>
      token({ grant_type: DEVICE_GRANT, device_code, client_id: clientId }, {}),
    confirmDevice,
    /** Enters and confirms the code of a device, signs in if asked, and decides. */
    async connectDevice(
      device: DeviceCode,
      { visitor = createPageVisitor(), decision = 'allow', user = alice as User } = {},
    ) {
      return proceed(visitor, await confirmDevice(device, visitor), user, decision);
    },
  };
}

export type System = Awaited<ReturnType<typeof startServers>>;

/** Starts authorization servers that share one store, for the tests of the file that awaits them. */
export async function startServers({
  engine = 'sqlite' as ConstellationOptions['engine'],
  servers = 1,
  apps = Array<'authorization-server'>(servers).fill('authorization-server'),
  bootstrap = installation,
  environment = {},
}: Partial<ConstellationOptions> & { readonly servers?: number } = {}) {
  const system = await startConstellation({ engine, apps, bootstrap, environment });
  const store = createStore(system.storeUrl);
  afterAll(async () => {
    await store.close();
    await system.stop();
  });
  const [first = '', second = first] = system.authorizationServerUrls;
  const identity = openIdentity({ store, masterKey: system.masterKey });
  return {
    ...system,
    store,
    identity,
    first: callsTo(first),
    second: callsTo(second),
    /** Calls to both servers in turn. */
    any: (turn: number) => callsTo(turn % 2 === 0 ? first : second),
  };
}

/** Starts such servers on each engine. */
export const startOnEngines = (
  options: Omit<Parameters<typeof startServers>[0] & object, 'engine'> = {},
  engines = integrationEngines,
) => onEachEngine((engine) => startServers({ ...options, engine }), engines);

/** Opens a store on each engine, without a server. */
export const openStores = () =>
  onEachEngine(async (engine) => {
    const running = await startStoreEngine(engine);
    const store = createStore(running.storeUrl);
    afterAll(async () => {
      await store.close();
      await running.stop();
    });
    return { store, storeUrl: running.storeUrl };
  }, storeEngines);

/** The line of a request in the log. */
export interface LogLine extends Readonly<Record<string, unknown>> {
  readonly requestId: string;
}

/** The lines of these requests in the log, once all are written. */
export async function linesOf(
  { processes }: Pick<Constellation, 'processes'>,
  replies: readonly { readonly headers: Headers }[],
): Promise<readonly LogLine[]> {
  const ids = replies.map(({ headers }) => headers.get('x-request-id') ?? '');
  let found: readonly LogLine[] = [];
  await until(() => {
    const texts = processes.flatMap((each) => each.output().split('\n'));
    const lines = texts
      .filter((line) => line.startsWith('{') && line.includes('"requestId"'))
      .map((line) => JSON.parse(line) as LogLine);
    found = ids.flatMap((id) => lines.find(({ requestId }) => requestId === id) ?? []);
    return found.length === ids.length;
  });
  return found;
}
