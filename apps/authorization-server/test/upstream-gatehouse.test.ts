/** One Gatehouse signs users in at another one. */
import { createPageVisitor, freePort } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { alice, client, installation } from './installation.ts';
import { startServers } from './server.ts';
import { atProvider, createProviderHost, startTlsProxy } from './upstream-providers.ts';

const host = createProviderHost();
const port = await freePort();
const issuer = `https://localhost:${port}`;
const { clientId, secureKey: clientSecret } = atProvider;
const branch = await startServers({
  bootstrap: {
    organizations: installation.organizations,
    clients: installation.clients,
    privateHosts: ['localhost'],
    upstreams: [
      {
        id: 'head',
        name: 'Head',
        issuer,
        clientId,
        clientSecret,
        orgId: 'org-1',
        createUsers: true,
      },
    ],
  },
  environment: host.environment,
});
const redirectUri = `${branch.first.issuer}/upstream/head/callback`;
const scopes = ['openid', 'profile', 'email'];
const registered = client(
  { clientId, secureKey: clientSecret, redirectUri },
  ['authorization_code'],
  scopes,
);
const head = await startServers({
  bootstrap: { ...installation, clients: [...installation.clients, registered] },
  environment: { AUTHORIZATION_SERVER_URL: issuer },
});
await startTlsProxy(host, port, () => head.members[0]?.url ?? '');

test('a user of the head office signs in at the branch', async () => {
  const visitor = createPageVisitor(host.send);
  const form = await branch.first.openSignIn(visitor, { prompt: 'login' });
  let page = await visitor.submit(form, { upstream: 'head' });
  expect(page.location).toContain('prompt=login');
  for (let step = 0; step < 20 && !page.body.includes('Example web application'); step += 1) {
    if (page.location !== undefined) {
      page = await visitor.get(page.location);
    } else {
      const isSignIn = page.body.includes('name="password"');
      page = await visitor.submit(page, isSignIn ? alice : { decision: 'allow' });
    }
  }
  expect([page.status, page.url.startsWith(branch.first.issuer)]).toEqual([200, true]);
  expect(page.body).toContain('<bdi>Alice Example</bdi>');
  const there = await head.identity.users.findByUsername('alice');
  const upstream = (await branch.identity.settings.read()).upstreams.get('head');
  const here =
    upstream && (await branch.identity.upstreamLinks.find(upstream, there?.userId ?? ''));
  expect(here).toMatchObject({ name: 'Alice Example', orgId: 'org-1', roles: [] });
  expect(here?.userId).not.toBe(there?.userId);
});
