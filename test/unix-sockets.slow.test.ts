// requires: redis-server
/** All apps on Unix sockets: a proxy on the same machine connects to the public ones. */
import { randomUUID } from 'node:crypto';
import { type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { basic, oneClient, signatureHeaders, until } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';

const secureKey = 'unixSocketKey012345678';
const sockets = {
  'authorization-server': join(tmpdir(), `as-${randomUUID().slice(0, 8)}.sock`),
  gateway: join(tmpdir(), `gw-${randomUUID().slice(0, 8)}.sock`),
  'device-service': join(tmpdir(), `ds-${randomUUID().slice(0, 8)}.sock`),
};
const system = await startSystem({
  engine: 'redis',
  bootstrap: oneClient(secureKey, { ipAllowList: ['203.0.113.0/24'] }),
  environment: {
    AUTHORIZATION_SERVER_SOCKET: sockets['authorization-server'],
    GATEWAY_SOCKET: sockets.gateway,
    DEVICE_SERVICE_SOCKET: sockets['device-service'],
    TRUSTED_PROXIES: '127.0.0.1',
  },
});

interface Reply {
  readonly status: number | undefined;
  readonly body: { readonly access_token?: string };
}

function send(
  app: keyof typeof sockets,
  path: string,
  headers: OutgoingHttpHeaders,
  body?: string,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const sending = request({ socketPath: sockets[app], path, method, headers, agent: false });
    sending.on('response', async (reply) => {
      const text = Buffer.concat(await reply.toArray()).toString();
      resolve({ status: reply.statusCode, body: JSON.parse(text) });
    });
    sending.on('error', reject).end(body);
  });
}

function askForToken(): Promise<Reply> {
  const headers = {
    authorization: basic('one', secureKey),
    'content-type': 'application/x-www-form-urlencoded',
  };
  return send('authorization-server', '/token', headers, 'grant_type=client_credentials');
}

describe('on Unix sockets', () => {
  test('the apps answer, and trust a proxy on the same machine', async () => {
    const { body } = await askForToken();
    const authorization = `Bearer ${body.access_token}`;
    expect(await send('gateway', '/api/device', { authorization })).toMatchObject({ status: 200 });
    // The allow list of the client applies to signed requests.
    const listFrom = (address: string, query: string) => {
      const signature = signatureHeaders({ clientId: 'one', secureKey }, query);
      const headers = { ...signature, 'x-forwarded-for': address };
      return send('gateway', `/api/device?${query}`, headers);
    };
    expect(await listFrom('203.0.113.7', 'pageIndex=0')).toMatchObject({ status: 200 });
    const forged = '203.0.113.7, 198.51.100.7';
    expect(await listFrom(forged, 'pageIndex=1')).toMatchObject({ status: 403 });
  });

  test.each(['authorization-server', 'gateway', 'device-service'] as const)(
    '%s listens on no TCP port',
    (app) => {
      const { port } = new URL(system.member(app).url);
      const outcome = new Promise((resolve) => {
        const socket = connect(Number(port), '127.0.0.1');
        socket.on('connect', () => resolve('connected'));
        socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      });
      return expect(outcome).resolves.toBe('ECONNREFUSED');
    },
  );

  test('the gateway reaches the device service again after it stopped or crashed', async () => {
    const { body } = await askForToken();
    const list = () =>
      send('gateway', '/api/device', { authorization: `Bearer ${body.access_token}` });
    const { output } = system.member('gateway').process;
    const service = system.member('device-service');
    for (const end of ['stop', 'kill'] as const) {
      await service.process[end]();
      expect(await list()).toMatchObject({ status: 502 });
      await service.start();
      expect(await list()).toMatchObject({ status: 200 });
    }
    await until(() => output().split('"reason":"upstream_unreachable"').length === 3);
  });
});
