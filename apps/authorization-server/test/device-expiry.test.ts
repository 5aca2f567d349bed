import { createPageVisitor } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { type InProcessServer, startInProcess } from './in-process-server.ts';
import { DEVICE_GRANT, pollDevice, startDevice, tv } from './page-fixtures.ts';

/** Advancing the clock by ten minutes must change only the date. */
const realClocks = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'nextTick',
  'queueMicrotask',
  'clearTimeout',
  'clearInterval',
  'clearImmediate',
  'hrtime',
  'performance',
] as const;

describe('a device code that no user has entered yet', () => {
  let server: InProcessServer;

  beforeAll(async () => {
    // The store keeps the clock of the time when it opens.
    jest.useFakeTimers({ now: Date.now(), doNotFake: [...realClocks] });
    server = await startInProcess();
    await server.identity.clients.save({
      ...tv,
      orgId: 'org-1',
      signatureAlgorithm: 'SHA-256',
      grantTypes: [DEVICE_GRANT],
      redirectUris: [],
      postLogoutRedirectUris: [],
      scopes: ['device:read'],
      applicationType: 'native',
      public: true,
      firstParty: false,
      resourceServer: false,
      ownOrganizationOnly: false,
      corsOrigins: [],
      ipAllowList: [],
    });
  });
  afterAll(async () => {
    jest.useRealTimers();
    await server.stop();
  });

  test('can be polled at the interval of the reply, and not faster', async () => {
    const { issuer } = server;
    const device = await startDevice(issuer);
    expect(device.interval).toBe(5);
    const start = Date.now();
    const answers = [];
    for (const seconds of [0, 3, device.interval]) {
      jest.setSystemTime(start + seconds * 1000);
      answers.push((await pollDevice(issuer, device)).body.error);
    }
    expect(answers).toEqual(['authorization_pending', 'slow_down', 'authorization_pending']);
  });

  test('expires after ten minutes, for the device and for the user', async () => {
    const { issuer } = server;
    const device = await startDevice(issuer);
    expect((await pollDevice(issuer, device)).body.error).toBe('authorization_pending');
    jest.setSystemTime(Date.now() + 601_000);
    const { status, body } = await pollDevice(issuer, device);
    expect([status, body.error]).toEqual([400, 'expired_token']);
    const visitor = createPageVisitor();
    const form = await visitor.get(device.verification_uri);
    const page = await visitor.submit(form, { user_code: device.user_code });
    expect([page.status, page.body]).toEqual([422, expect.stringContaining('has expired')]);
  });
});
