// requires: redis-server

import {
  authorizeAsUser,
  type Constellation,
  integrationEngines,
  startConstellation,
} from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { alice, bootstrap, browserApp, web } from './fixtures.ts';
import { connectDevice, bootstrap as pagesBootstrap, tv } from './page-fixtures.ts';

/** Certified clients of other authors, against a running server. */
const systems = await startOnEachEngine({ bootstrap, apps: ['authorization-server'] });

describe.each(systems)('independent clients over $engine', ({ system }) => {
  const issuer = new URL(system.authorizationServerUrl);

  test('openid-client signs a user in with code, PKCE, state and nonce, refreshes, introspects and revokes', async () => {
    const config = await openid.discovery(issuer, web.clientId, web.secureKey, undefined, {
      execute: [openid.allowInsecureRequests],
    });
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const expectedState = openid.randomState();
    const expectedNonce = openid.randomNonce();
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: web.redirectUri,
      scope: 'openid profile device:read',
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: expectedState,
      nonce: expectedNonce,
    });
    const landing = await authorizeAsUser(url.href, alice);
    const tokens = await openid.authorizationCodeGrant(config, landing, {
      pkceCodeVerifier,
      expectedState,
      expectedNonce,
      idTokenExpected: true,
    });
    const subject = tokens.claims()?.sub ?? '';
    const claims = await openid.fetchUserInfo(config, tokens.access_token, subject);
    expect(claims).toEqual({
      sub: subject,
      name: 'Alice Example',
      preferred_username: 'alice',
      updated_at: expect.any(Number),
    });

    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '');
    expect(refreshed.access_token).not.toBe(tokens.access_token);
    const before = await openid.tokenIntrospection(config, refreshed.access_token);
    expect(before).toMatchObject({
      active: true,
      client_id: 'web',
      scope: 'openid profile device:read',
    });
    await openid.tokenRevocation(config, refreshed.refresh_token ?? '');
    const after = await openid.tokenIntrospection(config, refreshed.access_token);
    expect(after.active).toBe(false);
  });

  test('openid-client pushes its authorization request, and gets a token for a machine', async () => {
    const config = await openid.discovery(issuer, web.clientId, web.secureKey, undefined, {
      execute: [openid.allowInsecureRequests],
    });
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const url = await openid.buildAuthorizationUrlWithPAR(config, {
      redirect_uri: web.redirectUri,
      scope: 'device:read',
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    });
    expect(url.searchParams.get('request_uri')).toMatch(/^urn:/);
    const landing = await authorizeAsUser(url.href, alice);
    const tokens = await openid.authorizationCodeGrant(config, landing, { pkceCodeVerifier });
    expect(tokens.scope).toBe('device:read');
    const machine = await openid.clientCredentialsGrant(config, { scope: 'device:log' });
    expect(machine).toMatchObject({ token_type: 'bearer', scope: 'device:log' });
  });

  test('oauth4webapi does the same with strict checks, as a public and a confidential client', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true };
    const discovered = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' });
    const server = await oauth.processDiscoveryResponse(issuer, discovered);
    const client: oauth.Client = { client_id: browserApp.clientId };
    const verifier = oauth.generateRandomCodeVerifier();
    const url = new URL(server.authorization_endpoint ?? '');
    url.search = String(
      new URLSearchParams({
        response_type: 'code',
        client_id: client.client_id,
        redirect_uri: browserApp.redirectUri,
        scope: 'device:read',
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: 'state',
      }),
    );
    const landing = await authorizeAsUser(url.href, alice);
    const callback = oauth.validateAuthResponse(server, client, landing, 'state');
    const redeemed = await oauth.authorizationCodeGrantRequest(
      ...([
        server,
        client,
        oauth.None(),
        callback,
        browserApp.redirectUri,
        verifier,
        insecure,
      ] as const),
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, redeemed);
    const refreshed = await oauth.processRefreshTokenResponse(
      server,
      client,
      await oauth.refreshTokenGrantRequest(
        ...([server, client, oauth.None(), tokens.refresh_token ?? '', insecure] as const),
      ),
    );
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token);

    const machine: oauth.Client = { client_id: web.clientId };
    const secret = oauth.ClientSecretBasic(web.secureKey);
    const granted = await oauth.processClientCredentialsResponse(
      server,
      machine,
      await oauth.clientCredentialsGrantRequest(
        server,
        machine,
        secret,
        new URLSearchParams(),
        insecure,
      ),
    );
    const introspected = await oauth.processIntrospectionResponse(
      server,
      machine,
      await oauth.introspectionRequest(server, machine, secret, granted.access_token, insecure),
    );
    expect(introspected.active).toBe(true);
    const revoked = await oauth.revocationRequest(
      server,
      machine,
      secret,
      granted.access_token,
      insecure,
    );
    expect(await oauth.processRevocationResponse(revoked)).toBeUndefined();
  });
});

describe.each(integrationEngines)(
  'independent clients on devices without a browser, over %s',
  (engine) => {
    let system: Constellation;
    let issuer: URL;

    beforeAll(async () => {
      system = await startConstellation({
        engine,
        bootstrap: pagesBootstrap,
        apps: ['authorization-server'],
      });
      issuer = new URL(system.authorizationServerUrl);
    });
    afterAll(() => system.stop());

    test('openid-client gets the tokens of a device after the user allowed access', async () => {
      const config = await openid.discovery(issuer, tv.clientId, undefined, openid.None(), {
        execute: [openid.allowInsecureRequests],
      });
      const device = await openid.initiateDeviceAuthorization(config, { scope: 'device:read' });
      await connectDevice(device);
      const tokens = await openid.pollDeviceAuthorizationGrant(config, device);
      expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'device:read' });
    });

    test('oauth4webapi does the same with strict checks', async () => {
      const insecure = { [oauth.allowInsecureRequests]: true };
      const discovered = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' });
      const server = await oauth.processDiscoveryResponse(issuer, discovered);
      const client: oauth.Client = { client_id: tv.clientId };
      const scope = new URLSearchParams({ scope: 'device:read' });
      const asked = await oauth.deviceAuthorizationRequest(
        ...([server, client, oauth.None(), scope, insecure] as const),
      );
      const device = await oauth.processDeviceAuthorizationResponse(server, client, asked);
      await connectDevice(device);
      const polled = await oauth.deviceCodeGrantRequest(
        ...([server, client, oauth.None(), device.device_code, insecure] as const),
      );
      const tokens = await oauth.processDeviceCodeResponse(server, client, polled);
      expect(tokens.scope).toBe('device:read');
    });
  },
);
