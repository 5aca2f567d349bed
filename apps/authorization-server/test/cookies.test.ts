import { createPageVisitor } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { alice, bootstrap } from './fixtures.ts';
import { type InProcessServer, startInProcess } from './in-process-server.ts';

let server: InProcessServer;

async function start(issuer?: string): Promise<void> {
  server = await startInProcess({ bootstrap, ...(issuer !== undefined && { issuer }) });
}

afterEach(() => server.stop());

interface SetCookie {
  readonly value: string;
  /** The attributes in lower case, without values that vary. */
  readonly attributes: readonly string[];
}

/** Every cookie that a sign-in sets, by name, without those that it deletes again. */
async function cookiesOfSignIn(): Promise<ReadonlyMap<string, SetCookie>> {
  const visitor = createPageVisitor();
  const found = new Map<string, SetCookie>();
  const behindProxy = (url: string) => url.replace(server.issuer, server.address);
  let page = await visitor.get(`${server.address}/account`);
  for (let step = 0; step < 8; step += 1) {
    for (const line of page.headers.getSetCookie()) {
      const [pair = '', ...given] = line.split('; ');
      const [name = '', value = ''] = pair.split('=');
      const attributes = given.map((each) => each.toLowerCase());
      if (value !== '') {
        const shown = attributes.map((each) => each.replace(/^(expires|path=\/.+)=?.*/, '$1'));
        found.set(name, { value, attributes: shown.sort() });
      }
    }
    if (page.location !== undefined) {
      page = await visitor.get(behindProxy(page.location));
    } else if (page.body.includes('name="password"')) {
      page = await visitor.submit(page, alice);
    }
  }
  expect(page.body).toContain('Alice Example');
  return found;
}

const common = ['httponly', 'samesite=lax'];
const strict = 'samesite=strict';

describe('the cookies of a sign-in', () => {
  test('are hidden from scripts and other sites, and signed or sealed', async () => {
    await start();
    const cookies = await cookiesOfSignIn();
    const names = ['interaction', 'resume', 'session'];
    const signed = names.flatMap((name) => [name, `${name}.sig`]);
    expect([...cookies.keys()].sort()).toEqual(['device', ...signed, 'sign-in.0']);
    expect(cookies.get('device')?.attributes).toEqual(['expires', 'httponly', 'path=/', strict]);
    for (const [name, { attributes }] of cookies) {
      expect(attributes).toEqual(expect.arrayContaining(name === 'device' ? [] : common));
      expect(attributes).not.toContain('secure');
    }
  });

  test('have Secure and the prefixes that prevent other hosts from setting them, over https', async () => {
    await start('https://auth.example');
    const cookies = await cookiesOfSignIn();
    const names = ['__Host-session', '__Secure-interaction', '__Secure-resume'];
    const signed = names.flatMap((name) => [name, `${name}.sig`]);
    const sealed = ['__Host-device', '__Secure-sign-in.0'];
    expect([...cookies.keys()].sort()).toEqual([...signed, ...sealed].sort());
    for (const [name, { attributes }] of cookies) {
      const sameSite = name === '__Host-device' ? strict : 'samesite=lax';
      expect(attributes).toEqual(expect.arrayContaining(['httponly', 'secure', sameSite]));
      expect(attributes.some((each) => each.startsWith('domain'))).toBe(false);
      if (name.startsWith('__Host-')) {
        expect(attributes).toContain('path=/');
      }
    }
  });

  test('are valid only as they were signed', async () => {
    await start();
    const visitor = createPageVisitor();
    const cookies = await cookiesOfSignIn();
    const [session, signature] = ['session', 'session.sig'].map((name) => cookies.get(name)?.value);
    const statusWith = async (sig: string) => {
      const cookie = `session=${session}; session.sig=${sig}`;
      return (await visitor.get(`${server.address}/account`, { cookie })).status;
    };
    expect(await statusWith(String(signature))).toBe(200);
    expect(await statusWith('A'.repeat(27))).toBe(303);
  });
});
