/** Authorization servers with a mail server, and what people without an account or password do. */
import {
  createPageVisitor,
  integrationEngines,
  type PageVisitor,
  type StoreEngineName,
  type VisitedPage,
} from '@gatehouse/testing';
import { onEachEngine } from '@gatehouse/testing/suite';
import { afterAll } from '@jest/globals';
import { bob, client, installation } from './installation.ts';
import { mailUser, startMailServer } from './mail-server.ts';
import { type System, startServers } from './server.ts';

export const wanted = 'seven tall lanterns';
export const password = { wanted, repeated: wanted };
/** A client of an organization whose registration is closed. */
export const closed = {
  clientId: 'closed',
  secureKey: 'closedKey012345678901',
  redirectUri: 'https://closed.example/callback',
};
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const withEmail = (username: string) => ({ email: `${username}@example.com`, emailVerified: true });

export const mailInstallation = {
  ...installation,
  clients: [
    ...installation.clients,
    client(closed, ['authorization_code'], ['openid'], { orgId: 'org-2' }),
  ],
  users: [
    ...installation.users,
    ...['dora', 'erin', 'fred'].map((username) => ({
      ...{ username, password: 'an old password', name: username, orgId: 'org-1' },
      ...withEmail(username),
    })),
    ...[
      { ...bob, username: 'gone', name: 'Gone', enabled: false, ...withEmail('gone') },
      { ...bob, username: 'new', name: 'New', email: 'new@example.com' },
    ].map((user) => ({ ...user, orgId: 'org-1' })),
  ],
  registration: { organizations: { 'org-1': { open: true, emailDomains: ['example.com'] } } },
};

/** For the tests of the file that awaits them. */
export const startMailSystems = () => onEachEngine(startMailSystem, integrationEngines);

async function startMailSystem(engine: StoreEngineName) {
  const mailServer = await startMailServer();
  const credentials = `${mailUser.name}:${encodeURIComponent(mailUser.password)}`;
  const environment = {
    SMTP_URL: mailServer.url.replace('//', `//${credentials}@`),
    MAIL_FROM: 'Example <no-reply@example.com>',
    TRUSTED_PROXIES: '127.0.0.1, ::1',
  };
  const system = await startServers({ engine, environment, bootstrap: mailInstallation });
  afterAll(() => mailServer.stop());
  return { ...system, mailServer };
}

let addresses = 0;

/** Headers from an address of its own, so that no test uses up the limit of another one. */
export function fromElsewhere(more: Readonly<Record<string, string>> = {}) {
  addresses += 1;
  const address = `198.51.${100 + Math.floor(addresses / 250)}.${addresses % 250}`;
  return { 'x-forwarded-for': address, 'user-agent': firefox, ...more };
}

export function strangerAt({ issuer, openSignIn }: System['first']) {
  const openRegistration = async (visitor: PageVisitor) =>
    visitor.get(`${(await openSignIn(visitor)).url}/create-account`);
  return {
    async forget(login: string, headers = fromElsewhere()) {
      const visitor = createPageVisitor();
      const form = await visitor.get(`${issuer}/forgot-password?interaction=abc`);
      return visitor.submit(form, { login }, headers);
    },
    async register(email: string, headers = fromElsewhere()) {
      const visitor = createPageVisitor();
      return visitor.submit(await openRegistration(visitor), { email }, headers);
    },
  };
}

/** Everything that a stranger sees of a reply. */
export const outcomeOf = ({ status, location = '', headers, body }: VisitedPage) => [
  status,
  location.replace(/sign-in\/[^/]+/, 'sign-in'),
  [...headers.keys()].sort().join(),
  body.length,
];
