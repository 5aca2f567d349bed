import { createHash, randomBytes } from 'node:crypto';
import { authorizeAsUser, createPageVisitor } from '@gatehouse/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { alice, authorizationUrl, requestToken } from './fixtures.ts';
import { type InProcessServer, startInProcess } from './in-process-server.ts';
import {
  bootstrap,
  connectDevice,
  DEVICE_GRANT,
  introspect,
  openPage,
  pollDevice,
  startDevice,
} from './page-fixtures.ts';

/** The same client signs users in on devices and in the browser. */
const player = { clientId: 'player', redirectUri: 'https://player.example/callback' } as const;

let server: InProcessServer;
beforeAll(async () => {
  const client = {
    clientId: player.clientId,
    name: 'Player',
    orgId: 'org-1',
    public: true,
    grantTypes: [DEVICE_GRANT, 'authorization_code'],
    redirectUris: [player.redirectUri],
    scopes: ['device:read'],
  };
  server = await startInProcess({
    bootstrap: { ...bootstrap, clients: [...bootstrap.clients, client] },
  });
});
afterAll(() => server.stop());

test('A sign-out revokes the token of the browser, and not that of a device that the browser connected later.', async () => {
  const { issuer } = server;
  const visitor = createPageVisitor();
  const verifier = randomBytes(32).toString('base64url');
  const url = authorizationUrl(issuer, {
    client_id: player.clientId,
    redirect_uri: player.redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const landing = await authorizeAsUser(url, alice, visitor);
  const inBrowser = await requestToken(
    issuer,
    {
      grant_type: 'authorization_code',
      code: landing.searchParams.get('code') ?? '',
      code_verifier: verifier,
      client_id: player.clientId,
      redirect_uri: player.redirectUri,
    },
    {},
  );
  const device = await startDevice(issuer, { client_id: player.clientId });
  await connectDevice(device, { visitor });
  const onDevice = await pollDevice(issuer, device, player);
  const areActive = async () => [
    (await introspect(issuer, inBrowser.body.access_token)).active,
    (await introspect(issuer, onDevice.body.access_token)).active,
  ];
  expect(await areActive()).toEqual([true, true]);
  const question = await openPage(visitor, `${issuer}/logout`);
  await visitor.submit(question, { logout: 'yes' });
  expect(await areActive()).toEqual([false, true]);
});
