/** An installation with a console, and a browser or a visitor that is signed in to it. */
import { codeOfApp, createPageVisitor, secretOfPage, type VisitedPage } from '@gatehouse/testing';

/** Stored text that a page must show as text in every place. */
export const hostile = `<img src=x onerror=alert(1)>"'&\u202e`;

export const operator = { username: 'olga', password: 'correct horse battery' } as const;
export const reader = { username: 'rita', password: 'correct horse battery' } as const;
export const second = { username: 'tina', password: 'correct horse battery' } as const;
export const stranger = { username: 'sam', password: 'correct horse battery' } as const;

export const installation = {
  organizations: [
    { id: 'org-1', name: 'Harbor Devices' },
    { id: 'org-2', name: hostile },
    { id: 'org-3', name: 'Meadow Energy' },
    { id: 'org-4', name: 'Removable' },
  ],
  clients: [
    {
      ...{ clientId: 'fleet', secureKey: 'fleetKey0123456789abcdef', name: 'Fleet service' },
      ...{ orgId: 'org-1', grantTypes: ['client_credentials'], scopes: ['device:read'] },
    },
    {
      ...{ clientId: 'odd', secureKey: 'oddKey0123456789abcdef01', name: hostile, orgId: 'org-2' },
      ...{ grantTypes: ['client_credentials'], scopes: ['device:read'] },
    },
  ],
  users: [
    { ...operator, name: 'Olga Operator', orgId: 'org-1', roles: ['operations'] },
    { ...reader, name: 'Rita Reader', orgId: 'org-1', roles: ['operations'] },
    { ...second, name: 'Tina Third', orgId: 'org-3', roles: ['operations'] },
    { ...stranger, name: hostile, orgId: 'org-2', roles: ['user'] },
  ],
  operators: { roles: ['operations'] },
} as const;

/** What a browser sends with a request of a page of the console. */
export const own = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'document' };

/** Reduces a page to the form with this action. */
export function withForm(page: VisitedPage, action: string): VisitedPage {
  const forms = page.body.match(/<form[\s\S]*?<\/form>/g) ?? [];
  const body = forms.find((form) => form.includes(`action="${action}"`));
  if (body === undefined) {
    throw new Error(`The page ${page.url} has no form ${action}.`);
  }
  return { ...page, body };
}

export type Visitor = ReturnType<typeof createPageVisitor>;

/** Opens pages as a browser does, and sends forms from them. */
export function browsing(visitor: Visitor, url: string) {
  const open = (path: string) => visitor.get(url + path, own);
  /** Sends the form of an act, from the page at a path. */
  const act = async (path: string, action: string, fields: Record<string, string> = {}) =>
    visitor.submit(withForm(await open(path), action), fields, own);
  return { open, act };
}

/** Follows redirects and pages that continue by themselves, until an address with this text. */
export async function follow(
  visitor: Visitor,
  first: VisitedPage,
  end?: string,
): Promise<VisitedPage> {
  let page = first;
  for (let step = 0; step < 15; step += 1) {
    const [, onwards] = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(page.body) ?? [];
    const address = page.location ?? onwards?.replaceAll('&amp;', '&');
    if (!address || (end !== undefined && address.includes(end))) {
      return page;
    }
    page = await visitor.get(new URL(address, page.url).href);
  }
  throw new Error(`The redirects do not end: ${page.url}`);
}

/** Of the authenticator apps that the tests of a file enrolled, by console and user. */
const secrets = new Map<string, string>();

type Person = Readonly<Record<'username' | 'password', string>>;

/** Opens an address of the console, and signs in. @returns the page that opens */
export async function signInAt(
  visitor: Visitor,
  address: string,
  user: Person = operator,
): Promise<VisitedPage> {
  const signIn = await follow(visitor, await visitor.get(address));
  const asked = await follow(visitor, await visitor.submit(signIn, user));
  const place = `${new URL(address).origin} ${user.username}`;
  const known = secrets.get(place);
  const secret = secretOfPage(asked);
  if (secret === '' && known === undefined) {
    return asked;
  }
  // A code works once, and that of the next 30 seconds is accepted, too.
  const code = codeOfApp(known ?? secret, Date.now() + (known === undefined ? 0 : 30_000));
  secrets.set(place, known ?? secret);
  const entered = await follow(visitor, await visitor.submit(asked, { code }));
  return entered.body.includes('class="code"')
    ? follow(visitor, await visitor.submit(entered, {}))
    : entered;
}

export const newVisitor = createPageVisitor;
