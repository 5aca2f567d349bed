import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createForwarding } from '../src/forwarding/forward.ts';
import { deviceRoutes } from '../src/routes/route.ts';
import { createUpstream } from '../src/upstream/upstream.ts';
import { startRecordingUpstream } from './recording-upstream.ts';

test('the gateway forwards nothing for a caller that left before its internal token was created', async () => {
  const service = await startRecordingUpstream();
  const upstream = createUpstream({
    health: undefined,
    onCircuitChange: () => {},
    url: service.url,
    connections: 1,
    streamConnections: 1,
    maximumRequests: 1,
  });
  const made = Promise.withResolvers<string>();
  const { forward } = createForwarding({
    upstreams: new Map([['device-service', upstream]]),
    issueInternalToken: () => made.promise,
    publicUrl: 'http://localhost',
  });
  const message = Object.assign(new IncomingMessage(new Socket()), {
    method: 'GET',
    url: '/api/device',
  });
  const response = new ServerResponse(message);
  const route = deviceRoutes.find(({ operation }) => operation === 'device.list');
  if (route === undefined) {
    throw new Error('There is no route to list devices.');
  }
  const observed = {
    id: 'request-1',
    receivedAt: 0,
    notes: {},
    startedAt: 0,
    completing: undefined,
    dependent: undefined,
    trace: undefined,
  };
  const principal = {
    clientId: 'c',
    orgId: 'o',
    userId: undefined,
    subject: 'c',
    scopes: new Set<string>(),
  };
  const forwarded = forward({
    message,
    response,
    observed,
    route,
    verified: {
      kind: 'bearer',
      principal,
      signer: undefined,
      secureKeyId: undefined,
      token: undefined,
      query: '',
      body: undefined,
    },
    target: { path: '/api/device' },
    clientAddress: '127.0.0.1',
  });
  response.destroy();
  made.resolve('token');

  await expect(forwarded).rejects.toThrow('The caller left');
  expect(service.requests).toEqual([]);
  await upstream.close();
  await service.close();
});
