/** Gatehouse with upstream providers, and browsers that go to them and back. */
import {
  createPageVisitor,
  integrationEngines,
  type PageVisitor,
  type VisitedPage,
} from '@gatehouse/testing';
import { decodeJwt } from 'jose';
import { installation } from './installation.ts';
import { startOnEngines } from './server.ts';
import {
  type Account,
  atProvider,
  createProviderHost,
  startForeignProvider,
  startLaxProvider,
} from './upstream-providers.ts';

const { clientId, secureKey: clientSecret } = atProvider;
const scopes = ['openid', 'profile', 'email', 'groups'];
const resource = 'https://api.example';
/** Its access tokens tell how the user signed in. */
const api = {
  ...{ resource, name: 'API', tokenFormat: 'jwt' },
  scopes: { 'api:read': { description: 'Read' } },
};

/** A role whose users need a second factor. */
const guarded = ['guarded'];

/** The entries of the foreign provider, by what the operator allows it. */
const foreignEntries = {
  /** Creates users of org-1. */
  corp: {
    ...{ orgId: 'org-1', createUsers: true, emailDomains: ['corp.example'] },
    roles: { claim: 'groups', values: { admins: ['admin'], staff: ['reader', 'writer'], guarded } },
  },
  /** Links users of org-1 by their address. */
  linker: { orgId: 'org-1', linkByVerifiedEmail: true },
  /** Signs in only users who connected their account. */
  plain: {},
  trusted: {
    ...{ createUsers: true, orgId: 'org-1', trustsFactors: true },
    roles: { claim: 'groups', values: { guarded } },
  },
  /** Creates users of an organization that is removed. */
  closing: { orgId: 'closing', createUsers: true, button: false },
  /** Of the other organization. */
  other: { orgId: 'org-2', linkByVerifiedEmail: true, createUsers: true, button: false },
};

const ids = Object.keys(foreignEntries);

/** Starts Gatehouse on each engine, with the same providers. */
export async function startWithUpstreams(
  options: { servers?: number; environment?: object } = {},
  engines = integrationEngines,
) {
  const host = createProviderHost();
  const callbacks: string[] = [];
  const foreign = await startForeignProvider(host, callbacks);
  const lax = await startLaxProvider(host);
  const upstreams = [
    ...Object.entries(foreignEntries).map(([id, entry]) => ({
      ...{ id, name: `Provider ${id}`, issuer: foreign.issuer, clientId, clientSecret, scopes },
      ...entry,
    })),
    {
      ...{ id: 'oauth', name: 'Code host', clientId, clientSecret, orgId: 'org-1' },
      createUsers: true,
      oauth: {
        authorizationEndpoint: `${lax.issuer}/authorize`,
        tokenEndpoint: `${lax.issuer}/token`,
        userinfoEndpoint: `${lax.issuer}/user`,
        members: { subject: 'id', email: 'email', name: 'login' },
      },
    },
    {
      ...{ id: 'lax', name: 'Lax', issuer: lax.issuer, clientId, orgId: 'org-1' },
      createUsers: true,
    },
    // Its metadata names another issuer.
    { id: 'liar', name: 'Liar', issuer: `${foreign.issuer}/liar`, clientId, clientSecret },
    // Nothing listens.
    { id: 'stopped', name: 'Stopped', issuer: 'https://localhost:1', clientId, clientSecret },
  ];
  const clients = installation.clients.map((each) =>
    each.clientId === 'web' ? { ...each, scopes: [...each.scopes, 'api:read'] } : each,
  );
  const secondFactor = { roles: { guarded: 'required' } };
  const settings = { upstreams, privateHosts: ['localhost'], resources: [api], secondFactor };
  const organizations = [...installation.organizations, { id: 'closing', name: 'Closing' }];
  const bootstrap = { ...installation, organizations, clients, ...settings };
  const environment = { ...host.environment, ...options.environment };
  const started = await startOnEngines({ ...options, bootstrap, environment }, engines);
  for (const { system } of started) {
    callbacks.push(...ids.map((id) => `${system.first.issuer}/upstream/${id}/callback`));
  }
  return { host, foreign, lax, started };
}

export type Upstreams = Awaited<ReturnType<typeof startWithUpstreams>>;
type Started = Upstreams['started'][number]['system'];

export function createBrowsers({ host, foreign }: Upstreams, system: Started) {
  const { first, identity } = system;

  /** Follows redirects until a page or the address of the application. */
  async function follow(visitor: PageVisitor, from: VisitedPage): Promise<VisitedPage> {
    let page = from;
    for (let step = 0; step < 20 && isLocal(page.location); step += 1) {
      page = await visitor.get(page.location ?? '');
    }
    return page;
  }

  const newBrowser = () => createPageVisitor(host.send);

  /** Chooses a provider on the sign-in page. @returns the address at the provider */
  async function leave(id: string, visitor = newBrowser(), parameters = {}, remember = 'yes') {
    const page = await first.openSignIn(visitor, {
      scope: 'openid api:read',
      resource,
      ...parameters,
    });
    const { location = '' } = await visitor.submit(page, { upstream: id, remember });
    return { visitor, page, location };
  }

  return {
    newBrowser,
    follow,
    leave,

    /** Signs in at the provider. @returns the address of the callback, which was not opened */
    async arrive(visitor: PageVisitor, location: string): Promise<string> {
      let page = await visitor.get(location);
      while (page.location?.startsWith(foreign.issuer)) {
        page = await visitor.get(page.location);
      }
      return page.location ?? '';
    },

    /** Signs in with an account at the provider. @returns the page after it */
    async signIn(
      id: string,
      account: Account,
      {
        visitor = newBrowser(),
        parameters = {},
        remember = 'yes',
      }: { visitor?: PageVisitor; parameters?: object; remember?: string } = {},
    ) {
      foreign.account = account;
      const { location } = await leave(id, visitor, parameters, remember);
      return follow(visitor, await visitor.get(location));
    },

    /** Allows what the application asks for. @returns the claims of the access token */
    async tokenOf(visitor: PageVisitor, page: VisitedPage) {
      const { location } = page.body.includes('name="decision"')
        ? await follow(visitor, await visitor.submit(page, { decision: 'allow' }))
        : page;
      const code = new URL(location ?? '').searchParams.get('code') ?? '';
      const { body } = await first.redeem(code, { resource });
      return decodeJwt(body.access_token);
    },

    /** The user whom the account signs in. */
    async userAt(id: string, { sub }: Account) {
      const upstream = (await identity.settings.read()).upstreams.get(id);
      return upstream && identity.upstreamLinks.find(upstream, sub);
    },
  };
}

const isLocal = (location: string | undefined) =>
  location !== undefined && new URL(location).hostname === 'localhost';
