import { createHash, createHmac, randomBytes } from 'node:crypto';
import { credentialKey, type Identity, type NewClient } from '@gatehouse/identity';
import { canonicalText, parseParameters } from '@gatehouse/signing';

export interface Signing {
  readonly query?: string;
  readonly body?: string | Buffer;
  readonly timestamp?: string;
  readonly clientId?: string;
  readonly secureKey?: string;
  readonly algorithm?: 'MD5' | 'SHA-256';
}

/**
 * The parts that version 2 signs. Defaults: GET /api/device of the client demo, now, without a
 * body.
 */
export interface SigningV2 extends Omit<Signing, 'algorithm'> {
  readonly method?: string;
  readonly path?: string;
  readonly contentType?: string;
  readonly nonce?: string;
}

export interface TestCredentials {
  /** Creates or changes a client, by default the client demo. */
  saveClient(change: Partial<NewClient>, secureKey?: string): Promise<void>;
  /** Writes a client directly to the store, because published vectors have short keys. */
  savePublishedClient(change: Partial<NewClient>, ...secureKeys: readonly string[]): Promise<void>;
  /** Stores a token as the authorization server does. */
  issueToken(change?: Record<string, unknown>): Promise<string>;
  /** Adds a secret that must not appear in the log. */
  keepSecret(secret: string): void;
  /** The three headers of Method A. */
  signed(signing?: Signing): Record<string, string>;
  /** The four headers of version 2 with a new nonce, and the content type if there is one. */
  signedV2(signing?: SigningV2): Record<string, string>;
}

export function createTestCredentials(dependencies: {
  readonly identity: Identity;
  readonly now: () => number;
  readonly secureKey: string;
  /** Collects the secrets that must not appear in a log. */
  readonly secrets: Set<string>;
}): TestCredentials {
  const { identity, now, secureKey, secrets } = dependencies;
  return {
    async saveClient(change, key) {
      await identity.clients.save({ ...demoClient, ...change }, key);
    },
    async savePublishedClient(change, ...secureKeys) {
      const client = { ...demoClient, ...change };
      const recordKey = `client:${client.clientId}`;
      const sealedSecureKeys = secureKeys.map((key) =>
        identity.sealer.seal(key, `${recordKey}:secureKey`),
      );
      await identity.store.set(recordKey, JSON.stringify({ ...client, sealedSecureKeys }));
    },
    async issueToken(change = {}) {
      const token = randomBytes(32).toString('base64url');
      secrets.add(token);
      const issuedAt = Math.floor(now() / 1000);
      const stored = {
        kind: 'AccessToken',
        clientId: 'demo',
        scope: 'device:read device:write',
        iat: issuedAt,
        exp: issuedAt + 7200,
        ...change,
      };
      const key = credentialKey('AccessToken', identity.credentialHash(token));
      await identity.store.set(key, JSON.stringify(stored), 7200);
      return token;
    },
    keepSecret(secret) {
      secrets.add(secret);
    },
    signed(signing = {}) {
      const { algorithm = 'SHA-256', clientId = 'demo', timestamp = String(now()) } = signing;
      const text = signing.body ?? canonicalText(parseParameters(signing.query ?? ''));
      const sign = digest(algorithm, text, timestamp, signing.secureKey ?? secureKey);
      secrets.add(sign);
      return { 'X-Client-Id': clientId, 'X-Timestamp': timestamp, 'X-Sign': sign };
    },
    signedV2(signing = {}) {
      const { clientId = 'demo', timestamp = String(now()), contentType } = signing;
      const { nonce = randomBytes(18).toString('base64url'), body = '' } = signing;
      const { method = 'GET', path = '/api/device', query = '' } = signing;
      const sign = hmacLines(
        signing.secureKey ?? secureKey,
        'GATEHOUSE-V2',
        method,
        path,
        query,
        contentType ?? '',
        digest('SHA-256', body),
        clientId,
        timestamp,
        nonce,
      );
      secrets.add(sign).add(nonce);
      return {
        'X-Client-Id': clientId,
        'X-Timestamp': timestamp,
        'X-Nonce': nonce,
        'X-Sign-V2': sign,
        ...(contentType === undefined ? {} : { 'Content-Type': contentType }),
      };
    },
  };
}

/** The signature by the text of the specification, without the code under test. */
export function digest(
  algorithm: 'MD5' | 'SHA-256',
  ...parts: readonly (string | Buffer)[]
): string {
  const hash = createHash(algorithm === 'MD5' ? 'md5' : 'sha256');
  for (const part of parts) {
    hash.update(part);
  }
  return hash.digest('hex');
}

/** Version 2 by the text of docs/signing.md, without the code under test. */
export function hmacLines(secureKey: string, ...lines: readonly string[]): string {
  return createHmac('sha256', secureKey).update(lines.join('\n')).digest('hex');
}

const demoClient: NewClient = {
  clientId: 'demo',
  name: 'Demo',
  orgId: 'org-1',
  signatureAlgorithm: 'SHA-256',
  grantTypes: ['client_credentials'],
  redirectUris: [],
  postLogoutRedirectUris: [],
  scopes: ['device:read', 'device:write', 'openid'],
  applicationType: 'web',
  public: false,
  firstParty: false,
  resourceServer: false,
  ownOrganizationOnly: false,
  corsOrigins: [],
  ipAllowList: [],
  enabled: true,
  notBefore: 0,
};
