/** Providers that sign users in to Gatehouse: a foreign OpenID Connect provider, and one of OAuth 2.0. */
import { generateKeyPairSync, hash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type RequestListener, request } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { createLocalTlsFetch, freePort, makeCertificate } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import Provider from 'oidc-provider';

/** It has no types. */
const memory = 'oidc-provider/lib/adapters/memory_adapter.js';
const { default: MemoryAdapter } = await import(memory);

export const atProvider = { clientId: 'gatehouse', secureKey: 'upstreamKey0123456789' } as const;

/** The user who is signed in at a provider. */
export interface Account {
  readonly sub: string;
  readonly [claim: string]: unknown;
}

/** Starts https servers on localhost that share a certificate. */
export function createProviderHost() {
  const { certificateFile, keyFile, authority } = makeCertificate(temporaryFolder(), ['localhost']);
  const tls = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
  const secure = createLocalTlsFetch(authority);
  return {
    environment: { NODE_EXTRA_CA_CERTS: certificateFile },
    /** Follows no redirect. */
    send: ((target, init) =>
      String(target).startsWith('https:')
        ? secure(target, init)
        : fetch(target, init)) as typeof fetch,
    async listen(handle: (issuer: string) => RequestListener, port?: number): Promise<string> {
      const chosen = port ?? (await freePort());
      const issuer = `https://localhost:${chosen}`;
      const server = createServer(tls, handle(issuer));
      await new Promise<void>((resolve) => server.listen(chosen, '127.0.0.1', resolve));
      afterAll(() => {
        server.closeAllConnections();
        server.close();
      });
      return issuer;
    },
  };
}

type Host = ReturnType<typeof createProviderHost>;

/** The library as a provider, which signs in `account` without a page. */
export async function startForeignProvider(host: Host, callbacks: readonly string[]) {
  const state = {
    account: { sub: 'nobody' } as Account,
    /** Seconds since the user signed in there, if it does not sign in again. */
    age: 0,
    /** The last authorization request. */
    asked: new URLSearchParams(),
    issuer: '',
  };
  state.issuer = await host.listen((issuer) => {
    // The addresses of callbacks are known when all servers run.
    let opened: Provider | undefined;
    return async (incoming, outgoing) => {
      opened ??= createForeignProvider(issuer, [...callbacks], state);
      const provider = opened;
      const { pathname, searchParams } = new URL(incoming.url ?? '', issuer);
      if (pathname === '/auth') {
        state.asked = searchParams;
      }
      if (pathname.startsWith('/interaction/')) {
        const ts = Math.floor(Date.now() / 1000) - state.age;
        const { sub: accountId, amr } = state.account;
        const login = { accountId, ts, ...(Array.isArray(amr) && { amr }) };
        await provider.interactionFinished(incoming, outgoing, { login });
        return;
      }
      await provider.callback()(incoming, outgoing);
    };
  });
  return state;
}

function createForeignProvider(
  issuer: string,
  redirect_uris: string[],
  state: { readonly account: Account },
) {
  const claims = { profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] };
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' };
  const { clientId: client_id, secureKey: client_secret } = atProvider;
  const provider: Provider = new Provider(issuer, {
    adapter: (model) => new MemoryAdapter(model),
    jwks: { keys: [jwk as never] },
    clients: [{ client_id, client_secret, redirect_uris, id_token_signed_response_alg: 'ES256' }],
    cookies: { keys: [randomBytes(16).toString('hex')] },
    features: { devInteractions: { enabled: false } },
    scopes: ['openid', 'profile', 'email', 'groups'],
    claims: { openid: ['sub', 'amr', 'auth_time'], ...claims },
    renderError(context, out) {
      context.body = out;
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...state.account, sub }) }),
    ttl: { Session: 60, Grant: 60, AccessToken: 60, IdToken: 60, Interaction: 60 },
    async loadExistingGrant({ oidc }) {
      const { accountId = '' } = oidc.session ?? {};
      const clientId = oidc.client?.clientId ?? '';
      const grant = new provider.Grant({ accountId, clientId });
      grant.addOIDCScope('openid profile email groups');
      await grant.save();
      return grant;
    },
  });
  return provider;
}

/**
 * A provider that redeems one code again and again. As one of OpenID Connect, it issues ID tokens with
 * these changes. As one of OAuth 2.0, such as GitHub, its users have numbers, and its errors status 200.
 */
export async function startLaxProvider(host: Host) {
  const [known, other] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')];
  const jwk = { ...(await exportJWK(known.publicKey)), alg: 'ES256', kid: 'key' };
  const state = {
    changes: {} as Readonly<Record<string, unknown>>,
    user: {} as object,
    redeemed: 0,
    issuer: '',
  };
  /** The last authorization request. */
  let asked = new URLSearchParams();
  const idToken = () => {
    const { isForged, ...claims } = state.changes;
    const now = Math.floor(Date.now() / 1000);
    const subject = { iss: state.issuer, sub: 'lax', aud: atProvider.clientId };
    const times = { nonce: asked.get('nonce'), iat: now, exp: now + 60 };
    return new SignJWT({ ...subject, ...times, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'key' })
      .sign(isForged === true ? other.privateKey : known.privateKey);
  };
  const replies: Readonly<Record<string, (form: URLSearchParams) => unknown>> = {
    '/.well-known/openid-configuration': () => ({
      ...{ issuer: state.issuer, authorization_endpoint: `${state.issuer}/authorize` },
      ...{ token_endpoint: `${state.issuer}/token`, jwks_uri: `${state.issuer}/jwks` },
      id_token_signing_alg_values_supported: ['ES256'],
    }),
    '/jwks': () => ({ keys: [jwk] }),
    async '/token'(form) {
      state.redeemed += 1;
      const isOidc = asked.has('nonce');
      const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
      const isKnown = isOidc || form.get('client_secret') === atProvider.secureKey;
      return isKnown && challenge === asked.get('code_challenge')
        ? { access_token: 'a', token_type: 'bearer', ...(isOidc && { id_token: await idToken() }) }
        : { error: 'bad_verification_code' };
    },
    '/user': () => state.user,
  };
  state.issuer = await host.listen(() => async (incoming, outgoing) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '', state.issuer);
    if (pathname === '/authorize') {
      asked = searchParams;
      const query = new URLSearchParams({ code: 'c', state: asked.get('state') ?? '' });
      if (!asked.has('nonce')) {
        query.set('iss', 'https://other');
      }
      const location = `${asked.get('redirect_uri')}?${query}`;
      outgoing.writeHead(302, { location }).end();
      return;
    }
    const isAllowed = pathname !== '/user' || incoming.headers.authorization === 'Bearer a';
    const reply = await replies[pathname]?.(new URLSearchParams(await text(incoming)));
    outgoing.writeHead(isAllowed ? 200 : 401, { 'content-type': 'application/json' });
    outgoing.end(JSON.stringify(isAllowed ? reply : {}));
  });
  return state;
}

/** Serves a server on loopback with TLS, as a proxy does. */
export const startTlsProxy = (host: Host, port: number, target: () => string): Promise<string> =>
  host.listen(
    () => (incoming, outgoing) => {
      const { method, url, headers } = incoming;
      incoming.pipe(
        request(new URL(url ?? '', target()), { method, headers }, (reply) => {
          outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
          reply.pipe(outgoing);
        }),
      );
    },
    port,
  );
