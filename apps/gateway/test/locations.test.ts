import { describe, expect, test } from '@jest/globals';
import { publicLocation } from '../src/forwarding/public-location.ts';
import { publicUrl } from './booted-gateway.ts';
import { bootSuiteGateway } from './suite-gateway.ts';

const gateway = await bootSuiteGateway();

describe('the public location', () => {
  const at = (upstreamUrl: string, publicUrl = 'https://gateway.example') => ({
    upstreamUrl,
    publicUrl,
    target: '/api/device?pageSize=20',
  });
  const plain = at('http://devices:8850');
  const deep = at('http://devices:8850/base/v1');
  const behindPath = at('http://devices:8850', 'https://gateway.example/iot');

  test.each([
    // Relative locations stay unchanged.
    ['/device/instance/1', plain, '/device/instance/1'],
    ['1?a=b#c', plain, '1?a=b#c'],
    ['../x', plain, '../x'],
    // Absolute locations become public URLs.
    ['http://devices:8850/device/1?a=b#c', plain, 'https://gateway.example/device/1?a=b#c'],
    ['HTTP://DEVICES:8850/device/1', plain, 'https://gateway.example/device/1'],
    ['//devices:8850/device/1', plain, 'https://gateway.example/device/1'],
    ['http://devices:8850', plain, 'https://gateway.example/'],
    ['http://user:secret@devices:8850/x', plain, 'https://gateway.example/x'],
    ['https://gateway.example/device/1', plain, 'https://gateway.example/device/1'],
    // The path of the upstream's URL is not public.
    ['/base/v1/device/1', deep, '/device/1'],
    ['http://devices:8850/base/v1/device/1', deep, 'https://gateway.example/device/1'],
    ['1', deep, '/api/1'],
    ['/base/v1', deep, '/'],
    ['/base/v1?a', deep, '/?a'],
    ['/device/1', behindPath, '/iot/device/1'],
    // CWE-601: two slashes after removing the prefix start a path, never a host.
    ['/base/v1//evil.example/x', deep, 'https://gateway.example//evil.example/x'],
    ['/base/v1/.//evil.example/x', deep, 'https://gateway.example//evil.example/x'],
    ['/base/v1/a/..//evil.example/x', deep, 'https://gateway.example//evil.example/x'],
    ['/./base/v1//evil.example/x', deep, 'https://gateway.example//evil.example/x'],
    ['..//evil.example/x', deep, 'https://gateway.example//evil.example/x'],
    ['..//evil.example/x', plain, 'https://gateway.example//evil.example/x'],
    ['/.//evil.example/x', plain, 'https://gateway.example//evil.example/x'],
    ['/base/v1//', deep, 'https://gateway.example//'],
    ['/base/v1/%2fevil.example', deep, '/%2fevil.example'],
    ['http://devices:8850/device/1', behindPath, 'https://gateway.example/iot/device/1'],
  ])('of %s is %j', (value, context, expected) => {
    expect(publicLocation(value, context)).toBe(expected);
  });

  test.each([
    ['https://evil.example/', plain],
    ['//evil.example/', plain],
    ['/\\evil.example/', plain],
    ['\\\\evil.example/', plain],
    ['/\t/evil.example/', plain],
    [' //evil.example/', plain],
    ['http://devices:8851/', plain],
    ['https://devices:8850/', plain],
    ['http://devices:8850@evil.example/', plain],
    ['http:evil', plain],
    ['http:/evil.example', plain],
    ['http:///evil.example', plain],
    ['javascript:alert(1)', plain],
    ['data:text/html,x', plain],
    ['http://[', plain],
    ['', plain],
    ['/gr\u00f6\u00dfe', plain],
    // Outside the public paths.
    ['/internal', deep],
    ['/base/v1-internal', deep],
    ['../../../x', deep],
    ['http://devices:8850/base/v10', deep],
  ])('of %j is undefined', (value, context) => {
    expect(publicLocation(value, context)).toBeUndefined();
  });
});

describe('a location from a service', () => {
  async function get(status: number, headers: Readonly<Record<string, string | string[]>>) {
    gateway.upstream.answerWith((_request, response) =>
      response.writeHead(status, headers).end('{}'),
    );
    return gateway.send('/api/device', { headers: await gateway.bearer() });
  }

  test.each([201, 301, 302, 303, 307, 308])(
    'reaches the caller of a %d as the public URL',
    async (status) => {
      const { url } = gateway.upstream;
      const reply = await get(status, {
        Location: `${url}/device/instance/1?a=b`,
        'Content-Location': `${url}/api/device`,
      });

      expect(reply.status).toBe(status);
      expect(reply.headers.location).toBe(`${publicUrl}/device/instance/1?a=b`);
      expect(reply.headers['content-location']).toBe(`${publicUrl}/api/device`);
      expect(JSON.stringify(reply.headers)).not.toContain(new URL(url).host);
    },
  );

  test.each([301, 302, 303, 307, 308])(
    'becomes a 502 if a %d leads to another origin',
    async (status) => {
      const reply = await get(status, { Location: 'https://evil.example/' });
      expect([reply.status, reply.json.code]).toEqual([502, 'bad_gateway']);
      expect(reply.headers).not.toHaveProperty('location');
    },
  );

  test('becomes a 502 if a redirect has two locations', async () => {
    expect((await get(302, { Location: ['/a', '/b'] })).status).toBe(502);
  });

  test('is withheld if the reply is not a redirect, as are Refresh and Link', async () => {
    const withheld = {
      Location: 'http://10.0.0.7/x',
      'Content-Location': '//evil.example',
      Refresh: '0; url=https://evil.example/',
      Link: '<https://evil.example/x.css>; rel=stylesheet',
    };
    const reply = await get(201, withheld);
    expect(reply.status).toBe(201);
    for (const name of Object.keys(withheld)) {
      expect(reply.headers).not.toHaveProperty(name.toLowerCase());
    }
  });
});
