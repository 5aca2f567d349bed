// requires: redis-server
/** Certified clients of other authors, against a running server. */
import { authorizeAsUser } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { alice, browserApp, tv, web } from './installation.ts';
import { startOnEngines } from './server.ts';

const systems = await startOnEngines();

describe.each(systems)('over $engine', ({ system: { first } }) => {
  const issuer = new URL(first.issuer);
  const options = { execute: [openid.allowInsecureRequests] };

  test('openid-client signs a user in with code, PKCE, state and nonce, refreshes, introspects and revokes', async () => {
    const { clientId, secureKey, redirectUri: redirect_uri } = web;
    const config = await openid.discovery(issuer, clientId, secureKey, undefined, options);
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const [expectedState, expectedNonce] = [openid.randomState(), openid.randomNonce()];
    const scope = 'openid profile device:read';
    const pkce = {
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    };
    const request = { redirect_uri, scope, ...pkce, state: expectedState, nonce: expectedNonce };
    const url = openid.buildAuthorizationUrl(config, request);
    const landing = await authorizeAsUser(url.href, alice);
    const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true };
    const tokens = await openid.authorizationCodeGrant(config, landing, checks);
    const subject = tokens.claims()?.sub ?? '';
    const claims = await openid.fetchUserInfo(config, tokens.access_token, subject);
    expect(claims).toMatchObject({ sub: subject, name: 'Alice Example' });

    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '');
    expect(refreshed.access_token).not.toBe(tokens.access_token);
    const before = await openid.tokenIntrospection(config, refreshed.access_token);
    expect(before).toMatchObject({ active: true, client_id: 'web', scope });
    await openid.tokenRevocation(config, refreshed.refresh_token ?? '');
    const after = await openid.tokenIntrospection(config, refreshed.access_token);
    expect(after.active).toBe(false);

    const pushed = await openid.buildAuthorizationUrlWithPAR(config, { redirect_uri, ...pkce });
    expect(pushed.searchParams.get('request_uri')).toMatch(/^urn:/);
    const again = await authorizeAsUser(pushed.href, alice);
    await openid.authorizationCodeGrant(config, again, { pkceCodeVerifier });
    const machine = await openid.clientCredentialsGrant(config, { scope: 'device:log' });
    expect(machine).toMatchObject({ token_type: 'bearer', scope: 'device:log' });
  });

  test('openid-client gets the tokens of a device after the user allowed access', async () => {
    const none = openid.None();
    const config = await openid.discovery(issuer, tv.clientId, undefined, none, options);
    const device = await openid.initiateDeviceAuthorization(config, { scope: 'device:read' });
    const { user_code, verification_uri } = device;
    await first.connectDevice({ user_code, verification_uri });
    const tokens = await openid.pollDeviceAuthorizationGrant(config, device);
    expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'device:read' });
  });

  const insecure = { [oauth.allowInsecureRequests]: true };
  async function discover() {
    const reply = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' });
    return oauth.processDiscoveryResponse(issuer, reply);
  }

  test('oauth4webapi does the same with strict checks, as a public and a confidential client', async () => {
    const server = await discover();
    const client: oauth.Client = { client_id: browserApp.clientId };
    const none = oauth.None();
    const verifier = oauth.generateRandomCodeVerifier();
    const landing = await first.land({
      ...{ client_id: client.client_id, redirect_uri: browserApp.redirectUri, state: 'state' },
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const callback = oauth.validateAuthResponse(server, client, landing, 'state');
    const redemption = [callback, browserApp.redirectUri, verifier, insecure] as const;
    const redeemed = await oauth.authorizationCodeGrantRequest(server, client, none, ...redemption);
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, redeemed);
    const value = tokens.refresh_token ?? '';
    const refresh = await oauth.refreshTokenGrantRequest(server, client, none, value, insecure);
    const refreshed = await oauth.processRefreshTokenResponse(server, client, refresh);
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token);

    const machine: oauth.Client = { client_id: web.clientId };
    const secret = oauth.ClientSecretBasic(web.secureKey);
    const asMachine = [server, machine, secret] as const;
    const fields = new URLSearchParams();
    const reply = await oauth.clientCredentialsGrantRequest(...asMachine, fields, insecure);
    const granted = await oauth.processClientCredentialsResponse(server, machine, reply);
    const told = await oauth.introspectionRequest(...asMachine, granted.access_token, insecure);
    const introspected = await oauth.processIntrospectionResponse(server, machine, told);
    expect(introspected.active).toBe(true);
    const revoked = await oauth.revocationRequest(...asMachine, granted.access_token, insecure);
    expect(await oauth.processRevocationResponse(revoked)).toBeUndefined();
  });

  test('oauth4webapi connects a device with strict checks', async () => {
    const server = await discover();
    const client: oauth.Client = { client_id: tv.clientId };
    const asDevice = [server, client, oauth.None()] as const;
    const scope = new URLSearchParams({ scope: 'device:read' });
    const asked = await oauth.deviceAuthorizationRequest(...asDevice, scope, insecure);
    const device = await oauth.processDeviceAuthorizationResponse(server, client, asked);
    const { device_code, user_code, verification_uri } = device;
    await first.connectDevice({ user_code, verification_uri });
    const polled = await oauth.deviceCodeGrantRequest(...asDevice, device_code, insecure);
    const tokens = await oauth.processDeviceCodeResponse(server, client, polled);
    expect(tokens.scope).toBe('device:read');
  });
});
