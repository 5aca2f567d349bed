import { describe, expect, test } from '@jest/globals';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

const gateway = await bootSuiteGateway({ explorer: true });

test('A gateway without the explorer treats /explorer like any unknown path.', async () => {
  const own = await openGateway();
  const headers = await own.bearer();
  for (const path of ['/explorer', '/explorer/', '/explorer/page/main.ts']) {
    expect((await own.send(path)).status).toBe(401);
    expect((await own.send(path, { headers })).status).toBe(404);
  }
});

describe('a gateway with the explorer', () => {
  test('serves the page with a policy that allows only its own files and two destinations', async () => {
    const { status, headers, body } = await gateway.send('/explorer');
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'x-frame-options': 'DENY',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
        "connect-src 'self' http://login.example:9000/token; base-uri 'none'; form-action 'none'; " +
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    });
    expect(body.toString()).not.toMatch(/<script>|<style|\sstyle=|\son\w+=|https?:/);
  });

  test('serves every file that the page names, as JavaScript without types', async () => {
    const page = (await gateway.send('/explorer')).body.toString();
    const names = [...page.matchAll(/(?:href|src)="(explorer\/[^"]+)"/g)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) {
      const { status, headers, body } = await gateway.send(`/${name}`);
      expect([name, status, headers['x-content-type-options']]).toEqual([name, 200, 'nosniff']);
      const text = body.toString();
      expect(text).not.toMatch(/^(?:export )?(?:interface|type) /m);
      for (const [, imported = ''] of text.matchAll(/^import [^']* from '([^']+)'/gm)) {
        expect(imported).toMatch(/^\.\.?\/[\w./-]+\.ts$/);
        expect(names).toContain(new URL(imported, `http://host/${name}`).pathname.slice(1));
      }
    }
  });

  test('serves no other file, no other method, and no path above its folder', async () => {
    const statusOf = async (path: string, method = 'GET') =>
      (await gateway.send(path, { method })).status;
    expect(await statusOf('/explorer/page/tsconfig.json')).toBe(404);
    expect(await statusOf('/explorer/%2e%2e/config.ts')).not.toBe(200);
    expect(await statusOf('/explorers')).toBe(401);
    expect(await statusOf('/explorer', 'POST')).toBe(405);
    const head = await gateway.send('/explorer', { method: 'HEAD' });
    expect([head.status, head.body.length]).toEqual([200, 0]);
    const slash = await gateway.send('/explorer/');
    expect([slash.status, slash.headers.location]).toEqual([308, '../explorer']);
  });

  test('counts its requests in the limit of the address, and names them in the log', async () => {
    const addressRateLimit = { requests: 2, windowSeconds: 60 };
    const own = await openGateway({ explorer: true, addressRateLimit });
    const { headers } = await own.send('/explorer/none');
    expect(headers['ratelimit-policy']).toContain('"address"');
    expect((await own.send('/explorer/favicon.svg')).status).toBe(429);
    const messages = own.logLines().map(({ msg }) => msg);
    expect(messages).toEqual(expect.arrayContaining(['GET explorer 404', 'GET explorer 429']));
  });
});
