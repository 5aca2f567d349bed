/**
 * Acts as a user without a browser: keeps cookies, fills in forms, and returns every redirect, also
 * that of a page.
 */
export type PageVisitor = ReturnType<typeof createPageVisitor>;

export type VisitedPage = Awaited<ReturnType<PageVisitor['get']>>;

type Person = Readonly<Record<'username' | 'password', string>>;
type Texts = Readonly<Record<string, string>>;

/** @param send replaces fetch for servers that fetch cannot reach */
export function createPageVisitor(send: typeof fetch = fetch) {
  // Names are unique, because paths contain a random interaction id.
  const jar = new Map<string, { readonly value: string; readonly path: string }>();

  async function visit(url: string, init: RequestInit) {
    const { pathname } = new URL(url);
    const cookie = [...jar]
      .filter(
        ([, { path }]) => pathname === path || pathname.startsWith(`${path}/`) || path === '/',
      )
      .map(([key, { value }]) => `${key.split('|', 1)[0]}=${value}`)
      .join('; ');
    const reply = await send(url, {
      ...init,
      redirect: 'manual',
      headers: {
        ...Object.fromEntries(new Headers(init.headers)),
        ...(cookie && { cookie }),
      },
    });
    for (const line of reply.headers.getSetCookie()) {
      keep(line);
    }
    const [, refresh = null] = /^0; url=(.*)/.exec(reply.headers.get('refresh') ?? '') ?? [];
    const location = reply.headers.get('location') ?? refresh;
    return {
      url,
      status: reply.status,
      headers: reply.headers,
      location: location === null ? undefined : new URL(location, url).href,
      body: await reply.text(),
    };
  }

  function keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    const path = attributes.find((each) => /^path=/i.test(each))?.slice(5) ?? '/';
    const expires = attributes.find((each) => /^expires=/i.test(each))?.slice(8);
    const key = `${name}|${path}`;
    if (expires !== undefined && Date.parse(expires) < Date.now()) {
      jar.delete(key);
    } else {
      jar.set(key, { value, path });
    }
  }

  return {
    get: (url: string, headers: Texts = {}) => visit(url, { headers }),
    /** Posts the first form of the page with its hidden fields and the given values. */
    submit(
      page: { readonly url: string; readonly body: string },
      fields: Texts,
      headers: Texts = {},
    ) {
      const action = /<form[^>]* action="([^"]*)"/.exec(page.body)?.[1] ?? '';
      const hidden = [
        ...page.body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g),
      ];
      const body = new URLSearchParams({
        ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])),
        ...fields,
      });
      return visit(new URL(action, page.url).href, { method: 'POST', headers, body });
    },
    get cookies(): ReadonlyMap<string, string> {
      return new Map([...jar].map(([key, { value }]) => [key, value]));
    },
  };
}

/** Signs in, gives consent, and returns the redirect URL of the application. */
export async function authorizeAsUser(
  authorizationUrl: string,
  user: Person,
  visitor: PageVisitor = createPageVisitor(),
): Promise<URL> {
  const { origin } = new URL(authorizationUrl);
  const isElsewhere = ({ location }: VisitedPage) =>
    location !== undefined && new URL(location).origin !== origin;
  const page = await signInAt(await visitor.get(authorizationUrl), user, visitor, isElsewhere);
  return new URL(page.location ?? '');
}

/** Follows redirects, signs in, and gives consent, until a page is the expected one. */
export async function signInAt(
  first: VisitedPage,
  user: Person,
  visitor: PageVisitor,
  isExpected: (page: VisitedPage) => boolean,
): Promise<VisitedPage> {
  let page = first;
  for (let step = 0; step < 8 && !isExpected(page); step += 1) {
    if (page.location !== undefined) {
      page = await visitor.get(page.location);
    } else if (/name="(?:password|decision)"/.test(page.body)) {
      const isSignIn = page.body.includes('name="password"');
      page = await visitor.submit(page, isSignIn ? user : { decision: 'allow' });
    } else {
      break;
    }
  }
  if (!isExpected(page)) {
    throw new Error(`The sign-in ended at ${page.status} ${page.url}:\n${page.body}`);
  }
  return page;
}

/** Signs in at the account page in a browser that has only this device cookie. */
export async function signInOnDevice(issuer: string, user: Person, device?: string) {
  const visitor = createPageVisitor((url, init = {}) => {
    const headers = new Headers(init.headers);
    const cookies = [headers.get('cookie'), device && `device=${device}`].filter(Boolean);
    headers.set('cookie', cookies.join('; '));
    return fetch(url, { ...init, headers });
  });
  let page = await visitor.get(`${issuer}/account`);
  while (page.location !== undefined) {
    page = await visitor.get(page.location);
  }
  const { status, location } = await visitor.submit(page, user);
  // After a failure, the browser returns to the sign-in page.
  const failed = location?.includes('/sign-in/') === true;
  return { status: failed ? 'failed' : status, device: visitor.cookies.get('device|/') };
}
