import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from '@gatehouse/server/configuration';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { loadBootstrap } from './load-bootstrap.ts';

const directory = temporaryFolder();

function write(name: string, content: unknown): string {
  const path = join(directory, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const load = (content: unknown) => loadBootstrap(write('bootstrap.json', content));

/** The problems as `name: message`, in their order. */
function problemsOf(content: unknown): readonly string[] {
  try {
    load(content);
  } catch (error) {
    if (error instanceof ConfigurationError) {
      return error.problems.map(({ name, message }) => `${name}: ${message}`);
    }
    throw error;
  }
  return [];
}

const organizations = [{ id: 'org-1', name: 'Example' }];
const client = {
  clientId: 'a',
  secureKey: 'aQ3xV7mK9pT2wZ5rB8nD1fG4hJ6kL0sC',
  name: 'A',
  orgId: 'org-1',
};
const user = { username: 'alice', password: 'long enough', name: 'Alice', orgId: 'org-1' };
const withClient = (changes: object) => ({ organizations, clients: [{ ...client, ...changes }] });
const withUser = (changes: object) => ({ organizations, users: [{ ...user, ...changes }] });

describe('a bootstrap file', () => {
  test('can set every member', () => {
    const whole = {
      ...client,
      signatureAlgorithm: 'MD5',
      scopes: ['device:read'],
      applicationType: 'web',
      grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
      redirectUris: ['https://app.example/callback'],
      public: false,
      firstParty: false,
      resourceServer: false,
      enabled: true,
      corsOrigins: ['https://app.example', 'http://localhost:3000'],
      postLogoutRedirectUris: ['https://app.example/'],
      ipAllowList: ['10.0.0.0/8', '::1'],
    };
    const loaded = load({ organizations, clients: [whole], users: [{ ...user, enabled: true }] });
    expect(loaded.clients[0]).toEqual({
      ...whole,
      ownOrganizationOnly: false,
      keepTokens: false,
    });
  });

  test('names the member that makes a public client invalid', () => {
    expect(problemsOf(withClient({ public: true }))).toEqual([
      expect.stringContaining('clients.0.grantTypes: a public client cannot use'),
      expect.stringContaining('clients.0.public: a public client must not have a secureKey'),
    ]);
  });

  test('can omit optional members', () => {
    expect(load({})).toEqual({
      browserHosts: [],
      resources: [],
      roles: [],
      userAttributes: {},
      lifetimes: {},
      organizations: [],
      clients: [],
      users: [],
    });
    expect(load(withClient({})).clients[0]).toEqual({
      ...client,
      signatureAlgorithm: 'SHA-256',
      grantTypes: ['client_credentials'],
      redirectUris: [],
      scopes: [],
      applicationType: 'web',
      public: false,
      firstParty: false,
      resourceServer: false,
      ownOrganizationOnly: false,
      keepTokens: false,
      corsOrigins: [],
      postLogoutRedirectUris: [],
      ipAllowList: [],
    });
  });

  test('reports all of its problems by name without values', () => {
    const problems = problemsOf({
      organizations: [{ id: 'marker with spaces', name: ' ' }],
      clients: [
        { ...client, secureKey: 'marker', scopes: ['marker scope'], redirectUris: ['marker'] },
        { ...client, clientId: 7, signatureAlgorithm: 'marker', secretKey: 'marker' },
        { clientId: 'b', name: 'B', orgId: 'org-1', secureKeyFile: 'marker-file' },
      ],
      users: [
        { ...user, password: 'marker' },
        { username: 'bob', name: 'Bob', orgId: 'org-1' },
      ],
    });
    expect(problems.map((problem) => problem.split(':')[0]).sort()).toEqual([
      'BOOTSTRAP_FILE clients.0.redirectUris.0',
      'BOOTSTRAP_FILE clients.0.scopes.0',
      'BOOTSTRAP_FILE clients.0.secureKey',
      'BOOTSTRAP_FILE clients.1',
      'BOOTSTRAP_FILE clients.1.clientId',
      'BOOTSTRAP_FILE clients.1.signatureAlgorithm',
      'BOOTSTRAP_FILE clients.2.secureKeyFile',
      'BOOTSTRAP_FILE organizations.0.id',
      'BOOTSTRAP_FILE organizations.0.name',
      'BOOTSTRAP_FILE users.0.password',
      'BOOTSTRAP_FILE users.1.password',
    ]);
    expect(problems.join()).not.toContain('marker');
    expect(problems.join()).toContain('has unknown members: secretKey');
  });

  test('states how a resource must be', () => {
    const scopesOf = (description: unknown) => ({
      'a b': { description: 'x' },
      a: { description },
    });
    const of = (resource: string, description: unknown) => ({
      ...{ resource, name: 'A', scopes: scopesOf(description) },
    });
    const resources = [
      of('https://a.example/a/', undefined),
      of('https://a.example/1/2/3/4/5', { en: 'x', xx: 'x' }),
      of('https://a.example/1/2/3/4', {}),
    ];
    const name = (i: number, member: string) => `BOOTSTRAP_FILE resources.${i}.${member}`;
    const wrongName = 'has an invalid name: must be printable ASCII without spaces, " and \\';
    expect(problemsOf({ resources })).toEqual([
      `${name(0, 'resource')}: must be an https address in normal form, without query, fragment and trailing slash`,
      `${name(0, 'scopes.a b')}: ${wrongName}`,
      `${name(0, 'scopes.a.description')}: is required`,
      `${name(1, 'resource')}: must have at most 4 segments in its path, of letters, digits and -._~!*'()`,
      `${name(1, 'scopes.a b')}: ${wrongName}`,
      `${name(1, 'scopes.a.description')}: has unknown members: xx`,
      `${name(2, 'scopes.a b')}: ${wrongName}`,
      `${name(2, 'scopes.a.description')}: must have a text`,
    ]);
    expect(load({ resources: [{ ...of('https://a.example', ''), scopes: {} }] })).toBeDefined();
  });

  test.each([
    ['broken', '{"clients": [{"secureKey": "marker"', 'is not valid JSON'],
    ['empty', '', 'is not valid JSON'],
  ])('is rejected without quoting it if it is %s', (_name, text, message) => {
    const problems = problemsOf(text);
    expect(problems).toEqual([`BOOTSTRAP_FILE: names a file that ${message}`]);
  });

  test.each([['null'], ['[]'], ['"text"'], ['{"clients": {}}'], ['{"clients": [null, 1, []]}']])(
    'is rejected if it has another shape: %s',
    (text) => {
      expect(problemsOf(text).length).toBeGreaterThan(0);
    },
  );

  test.each(['organization', 'Clients', '__proto__x'])(
    'is rejected if it has the unknown member %s',
    (name) => {
      expect(problemsOf(`{"${name}": []}`).join()).toContain(`has unknown members: ${name}`);
    },
  );

  test('is rejected if it contains duplicates, because the second would undo the first', () => {
    expect(
      problemsOf({
        organizations: [...organizations, ...organizations],
        clients: [client, { ...client, name: 'Other' }],
        users: [user, { ...user, username: 'ＡＬＩＣＥ' }],
      }),
    ).toEqual([
      'BOOTSTRAP_FILE organizations.1.id: is a duplicate',
      'BOOTSTRAP_FILE clients.1.clientId: is a duplicate',
      'BOOTSTRAP_FILE users.1.username: is a duplicate',
    ]);
  });
});

test.each([
  ...['https://a.internal', 'a.internal:8443', 'A.internal', 'a.internal/', '*', '', '0x7f.1'],
  ...['10.0.0.5', '[fd00::1]', 'a.internal.'],
])('the private host %j is rejected', (host) => {
  expect(problemsOf({ privateHosts: [host] })).toEqual([
    expect.stringMatching(/^BOOTSTRAP_FILE privateHosts\.0: must be the name of a host/),
  ]);
});

describe('a client in the file', () => {
  test.each([
    ['a short secureKey', { secureKey: 'short' }],
    ['a secureKey with a line break', { secureKey: 'aQ3xV7mK9pT2wZ5rB8nD\n' }],
    ['a secureKey that repeats', { secureKey: 'a'.repeat(16) }],
    ['no secureKey', { secureKey: undefined }],
    ['a secureKey if it is public', { public: true, grantTypes: [] }],
    ['the client_credentials grant if it is public', { public: true, secureKey: undefined }],
    ['the code grant without a redirect URI', { grantTypes: ['authorization_code'] }],
    ['the implicit grant without a redirect URI', { grantTypes: ['implicit'] }],
    ['an unknown grant', { grantTypes: ['magic'] }],
    ['a scope with a space', { scopes: ['device all'] }],
    ['an unknown algorithm', { signatureAlgorithm: 'SHA-1' }],
    ['a wildcard redirect URI', { redirectUris: ['https://*.example/cb'] }],
    [
      'the implicit grant with an http redirect URI',
      { grantTypes: ['implicit'], redirectUris: ['http://localhost:9999/callback'] },
    ],
    ['a script as logout address', { postLogoutRedirectUris: ['javascript:alert(1)'] }],
    ['a path as CORS origin', { corsOrigins: ['https://app.example/'] }],
    ['a wildcard as CORS origin', { corsOrigins: ['*'] }],
    ['null as CORS origin', { corsOrigins: ['null'] }],
    ['another protocol as CORS origin', { corsOrigins: ['ftp://app.example'] }],
    ['an impossible range', { ipAllowList: ['10.0.0.0/99'] }],
    ['half a range', { ipAllowList: ['10.0.0.0/'] }],
    ['a name as address', { ipAllowList: ['localhost'] }],
    ['a clientId with a space', { clientId: 'a b' }],
    ['a clientId with other letters', { clientId: 'ä' }],
    ['a blank name', { name: ' ' }],
    ['a name with a control character', { name: 'a\u0007' }],
    ['a string as a boolean', { enabled: 'false' }],
  ])('may not have %s', (_name, changes) => {
    expect(problemsOf(withClient(changes)).length).toBe(1);
  });

  test('can be public with a grant for public clients', () => {
    const loaded = load(
      withClient({
        secureKey: undefined,
        public: true,
        applicationType: 'native',
        grantTypes: ['authorization_code'],
        redirectUris: ['com.example.app:/callback', 'http://127.0.0.1/callback'],
      }),
    );
    expect(loaded.clients[0]?.secureKey).toBeUndefined();
  });
});

describe('the public keys of a client', () => {
  const jwkOf = (pair: { readonly publicKey: KeyObject }) =>
    pair.publicKey.export({ format: 'jwk' });
  const ed25519 = generateKeyPairSync('ed25519');
  const key = jwkOf(ed25519);
  const rsa = jwkOf(generateKeyPairSync('rsa', { modulusLength: 2048 }));
  const weak = jwkOf(generateKeyPairSync('rsa', { modulusLength: 1024 }));
  const otherCurve = jwkOf(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }));
  const ec = jwkOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }));
  const jwksUri = 'https://client.example/jwks';
  const withKeys = (...keys: readonly unknown[]) =>
    withClient({ secureKey: undefined, jwks: { keys } });

  test('are enough, and can have every type that verifies assertions', () => {
    const keys = [key, rsa, ec].map((each, i) => ({ ...each, kid: `key-${i}`, use: 'sig' }));
    expect(load(withKeys(...keys)).clients[0]?.jwks?.keys).toEqual(keys);
    expect(load(withKeys(key)).clients[0]?.secureKey).toBeUndefined();
    expect(load(withClient({ secureKey: undefined, jwksUri })).clients[0]?.jwksUri).toBe(jwksUri);
  });

  test.each([
    ['a private key', withKeys(ed25519.privateKey.export({ format: 'jwk' })), 'is a private'],
    ['a shared secret', withKeys({ kty: 'oct', k: 'key' }), 'is a private or shared'],
    ['a short RSA key', withKeys(weak), 'is weaker than RSA with 2048 bits'],
    ['another curve', withKeys(otherCurve), 'curve'],
    ['an encryption key', withKeys({ ...key, use: 'enc' }), 'jwks.keys.0.use'],
    ['a key for a shared secret', withKeys({ ...key, alg: 'HS256' }), 'jwks.keys.0.alg'],
    ['a broken key', withKeys({ kty: 'RSA', e: 'key' }), 'is not a public key of the type'],
    ['a long key', withKeys({ ...key, x5c: ['a'.repeat(9000)] }), 'is longer than'],
    ['two keys without a kid', withKeys(key, rsa), 'a different kid'],
    ['no key', withKeys(), 'must have a key'],
    ['a set and an address', withClient({ jwks: { keys: [key] }, jwksUri }), 'not both'],
    ['an http address', withClient({ jwksUri: 'http://client.example/' }), 'must be an https'],
    ['a secret address', withClient({ jwksUri: 'https://a:b@c.example/' }), 'user name'],
    [
      ...['keys, although it is public'],
      withClient({ secureKey: undefined, public: true, grantTypes: [], jwks: { keys: [key] } }),
      'a public client must not have public keys',
    ],
  ] as const)('may not be %s', (_name, content, message) => {
    expect(problemsOf(content)).toEqual([expect.stringContaining(message)]);
  });
});

describe('a user in the file', () => {
  test.each([
    ['a short password', { password: '7 chars' }],
    ['seven characters of many bytes', { password: '😀😀😀😀😀😀😀' }],
    ['a password over the limit', { password: 'a'.repeat(1025) }],
    ['one of the most common passwords', { password: 'Trustno1' }],
    ['the username as password', { username: 'alice-cooper', password: 'Alice-Cooper' }],
    ['no password', { password: undefined }],
    ['a username with a leading space', { username: ' alice' }],
    ['a username with an invisible character', { username: 'al\u200bice' }],
    ['a username with a control character', { username: 'al\u0000ice' }],
    ['no organization', { orgId: undefined }],
  ])('may not have %s', (_name, changes) => {
    expect(problemsOf(withUser(changes)).length).toBe(1);
  });

  test.each([
    [{ email: 'alice' }, 'email: must be an email address'],
    [{ email: '' }, 'email: must be an email address'],
    [{ emailVerified: true }, 'emailVerified: requires an email'],
    [{ roles: ['a', 'a'] }, 'roles: must not contain duplicates'],
    [{ roles: [' admin'] }, 'roles.0: must not start or end with white space'],
    [{ roles: [''] }, 'roles.0: must not be blank'],
    [{ roles: ['a\u0000'] }, 'roles.0: must not contain control characters'],
    [{ roles: ['a'.repeat(101)] }, 'roles.0: must not be longer than 100 characters'],
    [{ roles: Array.from({ length: 51 }, String) }, 'roles: must not have more than 50 entries'],
  ])('is rejected with %j', (changes, problem) => {
    expect(problemsOf(withUser(changes))).toContain(`BOOTSTRAP_FILE users.0.${problem}`);
  });
});

describe('a secret from a file', () => {
  test('is read from a path relative to the bootstrap file, without its last line break', () => {
    mkdirSync(join(directory, 'secrets'), { recursive: true });
    write('secrets/key', `${'kQ3xV7mK9pT2wZ5rB8nD1fG4hJ6kL0sC'}\r\n`);
    const absolute = write('secrets/password', ' spaces stay \n\n');
    const loaded = load({
      ...withClient({ secureKey: undefined, secureKeyFile: 'secrets/key' }),
      ...withUser({ password: undefined, passwordFile: absolute }),
    });
    expect(loaded.clients[0]?.secureKey).toBe('kQ3xV7mK9pT2wZ5rB8nD1fG4hJ6kL0sC');
    expect(loaded.clients[0]).not.toHaveProperty('secureKeyFile');
    expect(loaded.users[0]?.password).toBe(' spaces stay \n');
    expect(loaded.users[0]).not.toHaveProperty('passwordFile');
  });

  test('must conform to the same rules: an empty file is not a secret', () => {
    write('empty', '');
    expect(
      problemsOf({
        ...withClient({ secureKey: undefined, secureKeyFile: 'empty' }),
        ...withUser({ password: undefined, passwordFile: 'empty' }),
      }).map((problem) => problem.split(':')[0]),
    ).toEqual(['BOOTSTRAP_FILE clients.0.secureKey', 'BOOTSTRAP_FILE users.0.password']);
  });

  test('is rejected if the member is set, too', () => {
    write('key', 'kQ3xV7mK9pT2wZ5rB8nD1fG4hJ6kL0sC');
    expect(problemsOf(withClient({ secureKeyFile: 'key' }))).toEqual([
      'BOOTSTRAP_FILE clients.0.secureKey: set either secureKey or secureKeyFile, not both',
    ]);
  });

  test('is reported as one problem without quoting its name if it cannot be read', () => {
    for (const secureKeyFile of ['marker', '', 7, null, '.']) {
      expect(problemsOf(withClient({ secureKey: undefined, secureKeyFile }))).toEqual([
        'BOOTSTRAP_FILE clients.0.secureKeyFile: names a file that cannot be read',
      ]);
    }
  });
});
