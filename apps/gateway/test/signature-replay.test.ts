// requires: redis-server
import { describe, expect, test } from '@jest/globals';
import {
  bootClockedGateway,
  type ClockedGateway,
  expectRefused,
  onEngines,
} from './suite-gateway.ts';

const ADDRESS = '192.0.2.1';
const paths = Array.from({ length: 60 }, (_, number) => `/api/v1/device/d-${number}/_detail`);
const [first = '', second = '', third = ''] = paths;
const trustedProxies = ['127.0.0.1'];
const strict = await bootClockedGateway({ trustedProxies, strict: true });

/** Sends through a trusted proxy, which reports the address. */
function sendFrom(
  gateway: ClockedGateway,
  address: string,
  path: string,
  headers: Record<string, string>,
  sent: { readonly method?: string; readonly body?: string } = {},
) {
  return gateway.send(path, { ...sent, headers: { ...headers, 'X-Forwarded-For': address } });
}

// packages/identity tests the rules of the replay guard.
describe.each(await onEngines((options) => bootClockedGateway({ ...options, trustedProxies })))(
  'a repeated signature of version 1 on $engine',
  ({ system: gateway }) => {
    const from = async (address: string, path: string, headers: Record<string, string>) =>
      (await sendFrom(gateway, address, path, headers)).status;
    const get = (path: string, headers: Record<string, string>) => from(ADDRESS, path, headers);

    async function expectReplayed(reply: ReturnType<typeof sendFrom>): Promise<void> {
      gateway.upstream.requests.length = 0;
      expectRefused(gateway, await reply, 401, 'replayed_request');
    }

    test('is accepted for the same query, and rejected for a body', async () => {
      const query = gateway.signed({ query: 'a=1' });
      expect(await get('/api/device?a=1', query)).toBe(200);
      expect(await get('/api/device?a=1', query)).toBe(200);
      const sent = { method: 'POST', body: '{}' };
      const body = gateway.signed({ body: '{}' });
      const create = () => sendFrom(gateway, ADDRESS, '/device-instance', body, sent);
      expect((await create()).status).toBe(200);
      await expectReplayed(create());
    });

    test('is accepted for 60 parallel reads without parameters, each of which is signed', async () => {
      const headers = gateway.signed();
      const replies = await Promise.all(
        paths.map((path) => sendFrom(gateway, ADDRESS, path, headers)),
      );
      expect(replies.map(({ status }) => status)).toEqual(paths.map(() => 200));
      expect(replies.every((reply) => reply.headers['x-sign'] !== undefined)).toBe(true);
    });

    test('is rejected for another path after one second, with hex digits in any case', async () => {
      const headers = gateway.signed();
      expect(await get(first, headers)).toBe(200);
      gateway.clock.now += 1001;
      const upper = { ...headers, 'X-Sign': headers['X-Sign']?.toUpperCase() ?? '' };
      for (const again of [headers, upper]) {
        await expectReplayed(sendFrom(gateway, ADDRESS, second, again));
      }
    });

    test('is rejected from another address group: all addresses of an IPv6 /56 are one', async () => {
      const headers = gateway.signed();
      expect(await from('2001:db8:0:1::1', first, headers)).toBe(200);
      expect(await from('2001:db8:0:2::9', second, headers)).toBe(200);
      // An address to the left of that of the caller is forged.
      const others = ['2001:db8:0:100::1', '198.51.100.7, junk', '2001:db8:0:1::1, 198.51.100.7'];
      for (const address of others) {
        await expectReplayed(sendFrom(gateway, address, third, headers));
      }
    });

    test('is accepted once for a further target, in any spelling and with any method', async () => {
      const headers = gateway.signed();
      expect(await get(first, headers)).toBe(200);
      expect(await get(second, headers)).toBe(200);
      await expectReplayed(sendFrom(gateway, ADDRESS, second, headers));
      await expectReplayed(sendFrom(gateway, ADDRESS, `${second}?`, headers));
      const head = await sendFrom(gateway, ADDRESS, second, headers, { method: 'HEAD' });
      expect(head.status).toBe(401);
    });

    test.each([
      ['DELETE', '/api/v1/device/d-1'],
      ['POST', '/api/v1/device/d-1/_deploy'],
      ['POST', '/device/instance/_query'],
      ['PATCH', '/api/v1/device/d-1'],
    ])('is rejected for %s %s after a read, and the reverse', async (method, path) => {
      const ofRead = gateway.signed();
      expect(await get('/api/device', ofRead)).toBe(200);
      await expectReplayed(sendFrom(gateway, ADDRESS, path, ofRead, { method }));
      gateway.clock.now += 1;
      const ofChange = gateway.signed();
      expect((await sendFrom(gateway, ADDRESS, path, ofChange, { method })).status).toBe(200);
      await expectReplayed(sendFrom(gateway, ADDRESS, '/api/device', ofChange));
    });
  },
);

describe('the strict profile', () => {
  test('accepts one of 60 parallel reads', async () => {
    const headers = strict.signed();
    const replies = await Promise.all(
      paths.map((path) => sendFrom(strict, ADDRESS, path, headers)),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ json }) => json.code === 'replayed_request')).toHaveLength(59);
  });

  test('rejects MD5, whose clients may use version 2', async () => {
    const clientId = 'old';
    await strict.saveClient({ clientId, signatureAlgorithm: 'MD5' }, strict.secureKey);
    const get = (headers: Record<string, string>) => strict.send('/api/device', { headers });
    expectRefused(
      strict,
      await get(strict.signed({ clientId, algorithm: 'MD5' })),
      401,
      'invalid_signature',
    );
    expect((await get(strict.signedV2({ clientId }))).status).toBe(200);
  });
});
