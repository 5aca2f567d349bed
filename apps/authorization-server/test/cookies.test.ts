import { createPageVisitor } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { startInProcess } from './in-process-server.ts';
import { alice } from './installation.ts';

const plain = await startInProcess();
const behindProxy = await startInProcess({ issuer: 'https://auth.example' });

/** Every cookie that a sign-in sets, by name, without those that it deletes again. */
async function cookiesOfSignIn({ issuer, address }: typeof plain) {
  const visitor = createPageVisitor();
  /** The value, and the attributes in lower case, without values that vary. */
  const found = new Map<string, { value: string; attributes: readonly string[] }>();
  let page = await visitor.get(`${address}/account`);
  for (let step = 0; step < 8; step += 1) {
    for (const line of page.headers.getSetCookie()) {
      const [pair = '', ...given] = line.split('; ');
      const [name = '', value = ''] = pair.split('=');
      const attributes = given.map((each) =>
        each.toLowerCase().replace(/^(expires|path=\/.+)=?.*/, '$1'),
      );
      if (value !== '') {
        found.set(name, { value, attributes: attributes.sort() });
      }
    }
    if (page.location !== undefined) {
      page = await visitor.get(page.location.replace(issuer, address));
    } else if (page.body.includes('name="password"')) {
      page = await visitor.submit(page, alice);
    }
  }
  expect(page.body).toContain('Alice Example');
  return found;
}

const signed = (names: readonly string[]) => names.flatMap((name) => [name, `${name}.sig`]);

test('the cookies of a sign-in are hidden from scripts and other sites, and signed or sealed', async () => {
  const cookies = await cookiesOfSignIn(plain);
  const names = [...signed(['interaction', 'resume', 'session']), 'device', 'sign-in.0'];
  expect([...cookies.keys()].sort()).toEqual(names.sort());
  for (const [name, { attributes }] of cookies) {
    const sameSite = name === 'device' ? 'samesite=strict' : 'samesite=lax';
    expect(attributes).toEqual(expect.arrayContaining(['httponly', sameSite]));
    expect(attributes).not.toContain('secure');
  }
  const [session, signature] = ['session', 'session.sig'].map((name) => cookies.get(name)?.value);
  for (const [sig, status] of [
    [signature, 200],
    ['A'.repeat(27), 303],
  ] as const) {
    const cookie = `session=${session}; session.sig=${sig}`;
    expect((await plain.get('/account', { cookie })).status).toBe(status);
  }
});

test('over https, they have Secure and the prefixes that prevent other hosts from setting them', async () => {
  const cookies = await cookiesOfSignIn(behindProxy);
  const names = signed(['__Host-session', '__Secure-interaction', '__Secure-resume']);
  expect([...cookies.keys()].sort()).toEqual(
    [...names, '__Host-device', '__Secure-sign-in.0'].sort(),
  );
  for (const [name, { attributes }] of cookies) {
    const sameSite = name === '__Host-device' ? 'samesite=strict' : 'samesite=lax';
    expect(attributes).toEqual(expect.arrayContaining(['httponly', 'secure', sameSite]));
    expect(attributes.some((each) => each.startsWith('domain'))).toBe(false);
    expect(attributes.includes('path=/') || name.startsWith('__Secure-')).toBe(true);
  }
});
