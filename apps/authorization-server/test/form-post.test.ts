import { createPageVisitor, type VisitedPage } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, bootstrap, requestToken, web } from './fixtures.ts';

/** Form fields and action of the page that posts the reply to the application. */
function formOf({ body }: VisitedPage) {
  const fields = [...body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  return {
    action: /<form method="post" action="([^"]*)"/.exec(body)?.[1],
    fields: Object.fromEntries(fields.map(([, name, value]) => [name, value])),
  };
}

const system = await startSystem({
  engine: 'sqlite',
  bootstrap,
  apps: ['authorization-server'],
});
const issuer = system.authorizationServerUrl;

describe('response_mode=form_post', () => {
  async function signIn(parameters: Record<string, string>): Promise<VisitedPage> {
    const visitor = createPageVisitor();
    let page = await visitor.get(
      authorizationUrl(issuer, { response_mode: 'form_post', ...parameters }),
    );
    for (let step = 0; step < 8 && !page.body.includes('name="code"'); step += 1) {
      if (page.location !== undefined) {
        page = await visitor.get(page.location);
      } else if (page.body.includes('name="password"')) {
        page = await visitor.submit(page, alice);
      } else {
        page = await visitor.submit(page, { decision: 'allow' });
      }
    }
    return page;
  }

  test('posts the code and the state to the redirect URI', async () => {
    const state = '"><script>alert(1)</script>&amp;';
    const page = await signIn({ scope: 'openid', state });
    const { action, fields } = formOf(page);
    expect([page.status, action, fields.iss]).toEqual([200, web.redirectUri, issuer]);
    expect(fields.state).toBe('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;');
    const { status } = await requestToken(issuer, {
      grant_type: 'authorization_code',
      code: fields.code ?? '',
      redirect_uri: web.redirectUri,
    });
    expect(status).toBe(200);
  });

  test('needs no inline script, and its page cannot be framed or cached', async () => {
    const page = await signIn({ scope: 'openid' });
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self' https://app.example");
    expect(policy).not.toContain('unsafe-inline');
    expect(page.headers.get('cache-control')).toBe('no-store');
    const scripts = page.body.match(/<script[^>]*>[^<]*/g) ?? [];
    expect(scripts).toEqual(['<script src="/assets/submit-form.js" defer>']);
    const script = await fetch(`${issuer}/assets/submit-form.js`);
    expect(script.headers.get('content-type')).toContain('text/javascript');
  });

  test('posts errors as well, and never to an address that is not registered', async () => {
    const error = await createPageVisitor().get(
      authorizationUrl(issuer, { response_mode: 'form_post', prompt: 'none', state: 's1' }),
    );
    expect([error.status, formOf(error)]).toEqual([
      400,
      {
        action: web.redirectUri,
        fields: expect.objectContaining({ error: 'login_required', state: 's1', iss: issuer }),
      },
    ]);
    const foreign = await createPageVisitor().get(
      authorizationUrl(issuer, {
        response_mode: 'form_post',
        redirect_uri: 'https://evil.example/',
      }),
    );
    expect(foreign.status).toBe(400);
    expect(foreign.body).not.toContain('<form');
  });
});
