/** Acts as a user without a browser: keeps cookies, fills in forms, and returns every redirect. */
export type PageVisitor = ReturnType<typeof createPageVisitor>;

export type VisitedPage = Awaited<ReturnType<PageVisitor['get']>>;

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
    const location = reply.headers.get('location');
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
  user: { readonly username: string; readonly password: string },
  visitor: PageVisitor = createPageVisitor(),
): Promise<URL> {
  const origin = new URL(authorizationUrl).origin;
  let page = await visitor.get(authorizationUrl);
  for (let step = 0; step < 8; step += 1) {
    if (page.location !== undefined && new URL(page.location).origin !== origin) {
      return new URL(page.location);
    }
    if (page.location !== undefined) {
      page = await visitor.get(page.location);
    } else if (page.body.includes('name="password"')) {
      page = await visitor.submit(page, user);
    } else if (page.body.includes('name="decision"')) {
      page = await visitor.submit(page, { decision: 'allow' });
    } else {
      break;
    }
  }
  throw new Error(`The sign-in ended at ${page.status} ${page.url}:\n${page.body}`);
}
