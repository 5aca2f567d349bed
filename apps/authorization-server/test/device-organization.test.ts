import { createPageVisitor, type PageVisitor } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, requestToken } from './fixtures.ts';
import {
  bootstrap,
  connectDevice,
  DEVICE_GRANT,
  type DeviceAuthorization,
  failToSignIn,
  openPage,
  startDevice,
} from './page-fixtures.ts';

const carol = { username: 'carol', password: 'a long password of carol' } as const;
const ownTv = { clientId: 'own-tv', name: 'Meeting room screen' } as const;

const system = await startSystem({
  engine: 'sqlite',
  bootstrap: {
    ...bootstrap,
    organizations: [...bootstrap.organizations, { id: 'org-2', name: 'Another' }],
    clients: [
      ...bootstrap.clients,
      {
        ...ownTv,
        orgId: 'org-2',
        public: true,
        ownOrganizationOnly: true,
        grantTypes: [DEVICE_GRANT],
        scopes: ['device:read'],
      },
    ],
    users: [...bootstrap.users, { ...carol, name: 'Carol', orgId: 'org-2' }],
  },
  apps: ['authorization-server'],
});
const issuer = system.authorizationServerUrl;

describe('a device for one organization only', () => {
  const poll = async (device: DeviceAuthorization) => {
    const { clientId } = ownTv;
    const form = { grant_type: DEVICE_GRANT, device_code: device.device_code, client_id: clientId };
    const { status, body } = await requestToken(issuer, form, {});
    return body.error ?? status;
  };
  const confirm = async (device: DeviceAuthorization, visitor: PageVisitor) => {
    const form = await visitor.get(device.verification_uri);
    const question = await visitor.submit(form, { user_code: device.user_code });
    const confirmed = await visitor.submit(question, { confirm: 'yes' });
    return visitor.get(confirmed.location ?? '');
  };

  test('can be connected by a user of that organization', async () => {
    const device = await startDevice(issuer, { client_id: ownTv.clientId });
    await connectDevice(device, { user: carol });
    expect(await poll(device)).toBe(200);
  });

  test('rejects the password of another user like a wrong one', async () => {
    const device = await startDevice(issuer, { client_id: ownTv.clientId });
    const visitor = createPageVisitor();
    const signIn = await confirm(device, visitor);
    await failToSignIn(visitor, signIn, alice);
    expect(await poll(device)).toBe('authorization_pending');
  });

  test('rejects a user of another organization who is already signed in', async () => {
    const device = await startDevice(issuer, { client_id: ownTv.clientId });
    const visitor = createPageVisitor();
    await openPage(visitor, `${issuer}/account`, alice);
    const page = await confirm(device, visitor);
    expect(page.body).toContain('name="password"');
    expect(page.body).not.toContain('name="decision"');
    expect(await poll(device)).toBe('authorization_pending');
  });
});
