import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { bootstrap, browserApp, implicitApp, web } from './fixtures.ts';

const system = await startSystem({
  engine: 'sqlite',
  bootstrap,
  apps: ['authorization-server'],
  environment: { SECURITY_PROFILE: 'strict' },
});
const issuer = system.authorizationServerUrl;

describe('SECURITY_PROFILE=strict', () => {
  async function authorize(parameters: Record<string, string>) {
    const reply = await fetch(`${issuer}/authorize?${new URLSearchParams(parameters)}`, {
      redirect: 'manual',
    });
    return new URL(reply.headers.get('location') ?? '', issuer);
  }

  test('rejects the implicit flow and does not advertise it', async () => {
    const { clientId, redirectUri } = implicitApp;
    const landing = await authorize({
      response_type: 'token',
      client_id: clientId,
      redirect_uri: redirectUri,
    });
    expect(landing.hash).toContain('error=unsupported_response_type');
    const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
    expect(metadata).toMatchObject({ response_types_supported: ['code'] });
    expect(JSON.stringify(metadata)).not.toMatch(/"(implicit|password)"/);
  });

  test('requires PKCE from every client', async () => {
    for (const { clientId, redirectUri } of [web, browserApp]) {
      const landing = await authorize({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
      });
      expect(landing.searchParams.get('error')).toBe('invalid_request');
    }
  });
});
