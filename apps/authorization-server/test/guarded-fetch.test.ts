/** Attacks on the fetch of addresses that clients declare: where it connects, and what it reads. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { until } from '@gatehouse/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { buildConnector } from 'undici';
import {
  createGuardedFetch,
  type GuardedRequest,
  isAllowed,
  type Outbound,
} from '../src/guarded-fetch.ts';
import { startWebsite } from './website.ts';

const PUBLIC = '93.184.215.14';
type Handler = (request: IncomingMessage, response: ServerResponse) => void;
const site = await startWebsite(['client.example', 'localhost']);
const { open, dialed, dial } = site;

const answers =
  (...addresses: readonly string[]): NonNullable<Outbound['resolve']> =>
  async () =>
    addresses;

const guard = (changes: Outbound = {}) =>
  createGuardedFetch({ resolve: answers(PUBLIC), createConnector: dial, ...changes });
/** The connector of undici, which also trusts the certificate of the website. */
const trust: Outbound['createConnector'] = (options) =>
  buildConnector({ ...options, ca: site.authority });
const document = 'https://client.example/client.json';
const failure = (address: string, changes: Outbound = {}, request?: GuardedRequest) =>
  guard(changes)(address, request).then(
    () => 'a reply',
    ({ name, message }: Error) => `${name}: ${message}`,
  );

beforeEach(() => {
  dialed.length = 0;
  site.handle = (_request, response) => response.end('{"a":1}');
});

test('a public address with a certificate for its name is fetched', async () => {
  site.handle = (request, response) =>
    response
      .setHeader('Cache-Control', 'max-age=60')
      .setHeader('Set-Cookie', 'a=b')
      .end(JSON.stringify([request.url, request.headers]));
  const reply = await guard()(`${document}?a=b`, { headers: { accept: 'application/json' } });
  expect([reply.status, [...reply.headers]]).toEqual([200, [['cache-control', 'max-age=60']]]);
  expect(await reply.json()).toEqual([
    '/client.json?a=b',
    {
      ...{ host: 'client.example', accept: 'application/json', 'accept-encoding': 'identity' },
      ...{ 'user-agent': 'gatehouse', connection: 'close' },
    },
  ]);
  expect(dialed).toEqual([PUBLIC]);
  await until(() => open.size === 0);
});

test('a body is posted', async () => {
  site.handle = async (request, response) =>
    response.writeHead(204, { a: await textOf(request) }).end();
  const reply = await guard()(document, { method: 'POST', body: 'logout_token=a' });
  expect([reply.status, await reply.text()]).toEqual([204, '']);
});

describe('an address', () => {
  test.each([
    ...['93.184.215.14', '8.8.8.8', '172.15.0.1', '100.63.0.1', '198.20.0.1', '223.255.255.255'],
    ...['2606:2800:21f:cb07::1', '2001:4860:4860::8888', '2a00:1450::1'],
  ])('%s is public', (address) => {
    expect([isAllowed(address), isAllowed(address, true)]).toEqual([true, true]);
  });

  test.each([
    ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '127.0.0.1'],
    ...['127.255.255.254', '::1', 'fc00::1', 'fd12:3456::1'],
  ])('%s is private', (address) => {
    expect([isAllowed(address), isAllowed(address, true)]).toEqual([false, true]);
  });

  test.each([
    ['of a metadata service', '169.254.169.254', '100.100.100.200', '168.63.129.16'],
    ['of a metadata service', 'fd00:ec2::254', 'fd20:ce::254', '192.0.0.192'],
    ['link-local', '169.254.0.1', 'fe80::1', 'fec0::1', 'fe80::1%eth0'],
    ['unspecified', '0.0.0.0', '0.1.2.3', '::', '0:0:0:0:0:0:0:0'],
    ['multicast or broadcast', '224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1'],
    ['reserved', '240.0.0.1', '198.18.0.1', '192.0.2.1', '203.0.113.1', '2001:db8::1', '5f00::1'],
    ['IPv4 in IPv6', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '::ffff:8.8.8.8', '::8.8.8.8'],
    ['NAT64', '64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '100::1'],
    ['6to4 or Teredo', '2002:7f00:1::', '2002:808:808::1', '2001:0:1::1', '192.88.99.1'],
    ['not an address', '', 'localhost', '127.1', '0x7f000001', '10.0.0.1:80'],
  ])('that is %s is never reached: %s %s %s', (_kind, ...addresses) => {
    expect(addresses.filter((each) => isAllowed(each) || isAllowed(each, true))).toEqual([]);
  });

  test.each(['::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:0a00:0001', '::ffff:10.0.0.1'])(
    '%s, an IPv4-mapped one, is not public',
    (address) => {
      expect(isAllowed(address)).toBe(false);
    },
  );
});

describe('nothing connects', () => {
  test.each([
    ...['http://client.example/', 'ftp://client.example/', 'file:///etc/passwd', 'client.example'],
    ...['data:text/plain,a', 'https://user@client.example/', 'https://a:b@client.example/'],
    ...['https://127.0.0.1/', 'https://8.8.8.8/', 'https://[::1]/', 'https://0x7f.1/'],
    ...['https://2130706433/', 'https://0177.0.0.1/', 'https://[::ffff:127.0.0.1]/'],
    ...['https://[::ffff:8.8.8.8]/', 'https://127.0.0.1.', 'https://client.example./', ''],
    ...['https://１２７.0.0.1/', 'https://169.254.169.254/latest/meta-data/'],
  ])('for %s', async (address) => {
    expect(await failure(address)).toMatch(/^GuardedFetchError: the (?:address|name)/);
    expect(dialed).toEqual([]);
  });

  test.each([
    ['loopback', ['127.0.0.1']],
    ['the metadata service', ['169.254.169.254']],
    ['an IPv4-mapped address', ['::ffff:10.0.0.1']],
    ['a public and a private address', [PUBLIC, '10.0.0.1']],
    ['no address', []],
  ])('if the name has %s', async (_name, addresses) => {
    expect(await failure(document, { resolve: answers(...addresses) })).toMatch(
      /^GuardedFetchError: client\.example has (?:an address that is not public|no address)$/,
    );
    expect(dialed).toEqual([]);
  });

  test('if the resolver fails or never replies', async () => {
    const resolve = () => Promise.reject(new Error('SERVFAIL'));
    expect(await failure(document, { resolve })).toContain('did not reply');
    const never = () => new Promise<never>(() => undefined);
    expect(await failure(document, { resolve: never, milliseconds: 30 })).toContain('in time');
    expect(dialed).toEqual([]);
  });

  test('with the resolver of the machine, for its own name', async () => {
    const message = await createGuardedFetch()('https://localhost/').catch(String);
    expect(message).toMatch(/localhost (?:has an address that is not public|has no address)/);
  });
});

describe('a name that changes its address', () => {
  test('is resolved once, and the connection goes to the checked address', async () => {
    let lookups = 0;
    const resolve = async () => {
      lookups += 1;
      return lookups === 1 ? [PUBLIC] : ['127.0.0.1'];
    };
    expect((await guard({ resolve })(document)).status).toBe(200);
    expect([lookups, dialed]).toEqual([1, [PUBLIC]]);
  });

  test('is never looked up by what connects', async () => {
    const trusting = createGuardedFetch({ resolve: answers('127.0.0.1'), createConnector: trust });
    const address = `https://client.example:${site.port}/`;
    const reply = await trusting(address, { privateHosts: ['client.example'] });
    expect(await reply.json()).toEqual({ a: 1 });
  });

  test('is tried at its other addresses if one does not accept a connection', async () => {
    // The website listens at the last one only.
    const resolve = answers('127.0.0.2', '::1', '127.0.0.1');
    const trusting = createGuardedFetch({ resolve, createConnector: trust });
    const address = `https://client.example:${site.port}/`;
    expect((await trusting(address, { privateHosts: ['client.example'] })).status).toBe(200);
  });
});

test('a certificate for another name is rejected', async () => {
  expect(await failure('https://other.example/')).toBe(
    'GuardedFetchError: other.example did not reply',
  );
});

describe('a reply', () => {
  test.each([301, 302, 303, 307, 308])('with %d is not followed', async (status) => {
    let requests = 0;
    site.handle = (_request, response) => {
      requests += 1;
      response.writeHead(status, { location: 'https://127.0.0.1/' }).end();
    };
    expect(await failure(document)).toContain('redirects');
    expect(requests).toBe(1);
  });

  test.each(['gzip', 'br', 'deflate', 'identity, gzip', 'GZIP', 'zstd'])(
    'in %s is not decompressed',
    async (encoding) => {
      const bomb = gzipSync(Buffer.alloc(5_000_000));
      site.handle = (_request, response) =>
        response.setHeader('Content-Encoding', encoding).end(bomb);
      expect(await failure(document)).toContain('compressed body');
    },
  );

  const limit = { maximumBytes: 5120 };
  test('may have exactly the maximum length', async () => {
    site.handle = (_request, response) => response.end('a'.repeat(5120));
    expect((await (await guard()(document, limit)).text()).length).toBe(5120);
  });

  test('with a longer Content-Length is not read', async () => {
    site.handle = (_request, response) =>
      response.setHeader('Content-Length', 5122).write('a'.repeat(5121));
    expect(await failure(document, {}, limit)).toContain('more than 5120 bytes');
    await until(() => open.size === 0);
  });

  test('without an end is cut at the maximum length', async () => {
    let written = 0;
    site.handle = (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write('a'.repeat(1000))) {
          written += 1000;
        }
      };
      response.on('drain', more);
      more();
    };
    expect(await failure(document, {}, limit)).toContain('more than 5120 bytes');
    await until(() => open.size === 0);
    expect(written).toBeLessThan(10_000_000);
  });

  test.each<[string, Handler]>([
    ['never begins', () => undefined],
    ['never ends', (_request, response) => response.write('{')],
    [
      'drips',
      (_request, response) => {
        const timer = setInterval(() => response.write(' '), 5);
        response.on('close', () => clearInterval(timer));
      },
    ],
    [
      'has endless interim replies',
      (_request, response) => {
        const timer = setInterval(() => response.writeProcessing(), 5);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('that %s is cut at the deadline', async (_name, handler) => {
    site.handle = handler;
    expect(await failure(document, { milliseconds: 60 }, limit)).toContain('in time');
    await until(() => open.size === 0);
  });

  test('with endless headers is rejected', async () => {
    site.handle = (_request, response) => response.setHeader('A', 'a'.repeat(10_000)).end();
    expect(await failure(document)).toContain('did not reply');
  });

  test('ends when its caller gives up', async () => {
    site.handle = () => undefined;
    const given = new AbortController();
    const pending = failure(document, {}, { signal: given.signal });
    await until(() => open.size === 1);
    given.abort();
    expect(await pending).toContain('did not reply');
    await until(() => open.size === 0);
  });
});

test('the connector and the resolver of the server work, and check the certificate', async () => {
  const address = `https://localhost:${site.port}/`;
  const privateHosts = ['localhost'];
  const error = await createGuardedFetch()(address, { privateHosts }).catch(Object);
  expect(error.cause?.code).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
  const trusting = createGuardedFetch({ createConnector: trust });
  expect(await (await trusting(address, { privateHosts })).json()).toEqual({ a: 1 });
});

describe('a private host that an operator listed', () => {
  const privateHosts = ['client.example'];

  test('is reached for a registered client, and never for a stranger', async () => {
    const resolve = answers('10.0.0.5');
    expect((await guard({ resolve })(document, { privateHosts })).status).toBe(200);
    expect(await failure(document, { resolve })).toContain('not public');
    expect(await failure('https://other.example/', { resolve }, { privateHosts })).toContain(
      'not public',
    );
  });

  test.each(['169.254.169.254', '::ffff:169.254.169.254', 'fd00:ec2::254', '0.0.0.0'])(
    'is not reached at %s',
    async (address) => {
      expect(await failure(document, { resolve: answers(address) }, { privateHosts })).toContain(
        'not public',
      );
    },
  );
});

test('strangers can occupy only some places, and none of those for clients', async () => {
  site.handle = () => undefined;
  const fetch = guard();
  const given = new AbortController();
  const { signal } = given;
  const settled = (url: string, request: GuardedRequest) =>
    fetch(url, { signal, ...request }).catch(({ message }: Error) => message);
  const running = Array.from({ length: 8 }, () => settled(document, {}));
  expect(await settled(document, {})).toContain('too many');
  const others = Array.from({ length: 40 }, (_each, i) => settled(`https://a${i}.example/`, {}));
  expect(await settled('https://b.example/', {})).toContain('too many');
  // Rejected by its certificate, not by the limit.
  expect(await settled('https://b.example/', { privateHosts: [] })).toContain('did not reply');
  given.abort();
  await Promise.all([...running, ...others]);
  site.handle = (_request, response) => response.end();
  expect((await fetch(document)).status).toBe(200);
});

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) {
    text += chunk;
  }
  return text;
}
