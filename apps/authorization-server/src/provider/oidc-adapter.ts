import {
  type CredentialHash,
  clientRecordsKey,
  credentialKey,
  grantKey,
  grantMembersKey,
  grantTombstoneKey,
  type Identity,
  isGrantRevoked,
  type LiveHolder,
  userGrantsKey,
  userSessionsKey,
} from '@gatehouse/identity';
import type { Store } from '@gatehouse/store';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { contextOf } from '../requests/request-context.ts';
import { RevocationPendingError } from '../requests/too-many-attempts-error.ts';
import { withoutLostScopes } from './claims.ts';
import type { TokenOfSecureKey } from './client-patches.ts';
import { currentContext } from './library.ts';
import { endedSessionKey, lifetimes } from './lifetimes.ts';
import type { SingleUse } from './single-use.ts';

/**
 * oidc-provider's persistence over the Store. It decides what the library leaves open:
 * - Nothing is readable at rest: the HMAC of a credential is its key, and its value is nowhere in
 *   the payload. Payloads with other secrets are sealed whole.
 * - Single use is one `claim`. The loser of a race gets `invalid_grant` and revokes nothing. A
 *   credential that was redeemed before this request arrived is found as consumed, and the library
 *   revokes its tokens.
 * - A credential is not found if it was issued up to the not-before of its client, its user or the
 *   installation, or with a secure key that was removed since.
 * - A code or token no longer grants scopes and claims that its client lost.
 * - Nothing outlives its grant: the adapter adds the record to the index and writes it, then looks
 *   for the grant's tombstone and deletes the record if there is one.
 */
type AdapterDependencies = Pick<
  Identity,
  'store' | 'credentialHash' | 'sealer' | 'findLiveHolder' | 'onDamagedRecord'
> & { readonly singleUse: SingleUse };

/** Their payloads hold session ids, user codes or parameters that work like credentials. */
export const sealedModels: ReadonlySet<string> = new Set([
  'Session',
  'Interaction',
  'DeviceCode',
  'PushedAuthorizationRequest',
]);
/** A token request redeems them. */
const redeemedModels = new Set(['AuthorizationCode', 'RefreshToken', 'DeviceCode']);
const consumableModels = new Set([...redeemedModels, 'PushedAuthorizationRequest']);
/** The id of a Grant is not a credential. It stays readable, so that an operator can name it. */
const GRANT = 'Grant';
const tokenModels = new Set(['AccessToken', 'ClientCredentials', 'RefreshToken']);
/** The other tokens are in the index of their Grant. */
const clientRecordModels = new Set(['ClientCredentials', GRANT]);
/**
 * An expired code is kept this long, so that device and user are told that it expired (RFC 8628
 * §3.5).
 */
export const EXPIRED_DEVICE_CODE_SECONDS = 600;

const expiryOf = (expiresIn: number) => Date.now() + expiresIn * 1000;

export class OidcAdapter implements Adapter {
  readonly #model: string;
  readonly #store: Store;
  readonly #its: AdapterDependencies;

  constructor(model: string, dependencies: AdapterDependencies) {
    this.#model = model;
    this.#store = dependencies.store;
    this.#its = dependencies;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    const key = this.#key(id);
    const belongsToGrant = this.#belongsToGrant(payload);
    if (tokenModels.has(this.#model)) {
      await this.#assertIssuable(payload);
    }
    if (belongsToGrant) {
      await this.#store.addToIndex(grantMembersKey(payload.grantId), key, expiryOf(expiresIn));
    }
    if (this.#model === GRANT && payload.accountId !== undefined) {
      await this.#store.addToIndex(userGrantsKey(payload.accountId), id, expiryOf(expiresIn));
    }
    if (this.#model === 'Session' && payload.accountId !== undefined) {
      await this.#store.addToIndex(userSessionsKey(payload.accountId), key, expiryOf(expiresIn));
    }
    const kept = this.#model === 'DeviceCode' ? expiresIn + EXPIRED_DEVICE_CODE_SECONDS : expiresIn;
    const index =
      payload.clientId !== undefined && clientRecordModels.has(this.#model)
        ? this.#store.addToIndex(clientRecordsKey(payload.clientId, key), key, expiryOf(expiresIn))
        : undefined;
    await Promise.all([index, this.#store.set(key, this.#encode(key, payload), kept)]);
    if (payload.uid !== undefined && this.#model === 'Session') {
      await this.#point('uid', payload.uid, id, expiresIn);
    }
    if (payload.userCode !== undefined) {
      await this.#point('userCode', payload.userCode, id, kept);
    }
    if (belongsToGrant && (await isGrantRevoked(this.#store, payload.grantId))) {
      await this.#store.delete([key]);
      throw new errors.InvalidGrant('the grant was revoked');
    }
    if (this.#model === 'Session') {
      await this.#assertNotEnded(key, payload.uid);
    }
  }

  /** @throws RevocationPendingError if a not-before would make the token invalid at once */
  async #assertIssuable(payload: AdapterPayload): Promise<void> {
    const issuedAt = payload.iat ?? 0;
    // A holder that is disabled stays invalid. The library rejects it in the next request.
    if (
      (await this.#findHolder(payload)) === undefined &&
      (await this.#findHolder({ ...payload, iat: issuedAt + 2 })) !== undefined
    ) {
      throw new RevocationPendingError((issuedAt + 2) * 1000, Date.now());
    }
  }

  /** A request that runs while the session ends would otherwise write the session back. */
  async #assertNotEnded(key: string, uid: string | undefined): Promise<void> {
    const endedKey = endedSessionKey(this.#its.credentialHash(uid ?? ''));
    if ((await this.#store.get(endedKey)) !== undefined) {
      await this.#store.delete([key]);
      throw new errors.SessionNotFound('the session was ended');
    }
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const key = this.#key(id);
    const text = await this.#store.get(key);
    if (text === undefined) {
      return undefined;
    }
    const stored = this.#decode(key, text, id);
    if (stored === undefined) {
      return undefined;
    }
    const [holder, isRevoked] = await Promise.all([
      this.#findHolder(stored),
      this.#belongsToGrant(stored) && isGrantRevoked(this.#store, stored.grantId),
    ]);
    this.#noteCredential(stored, holder === undefined || isRevoked);
    if (holder === undefined || isRevoked) {
      return undefined;
    }
    const payload = withoutLostScopes(stored, holder.client);
    if (!consumableModels.has(this.#model)) {
      return payload;
    }
    if (await this.#its.singleUse.isRedeemed({ id, key })) {
      return { ...payload, consumed: true };
    }
    await this.#its.singleUse.assertMayPresent?.({ id, key });
    return payload;
  }

  /**
   * So that an error can be explained without another read of the store. A replayed credential is
   * deleted together with its grant before its error is handled.
   */
  #noteCredential(stored: AdapterPayload, isRevoked: boolean): void {
    const context = currentContext();
    if (context !== undefined && redeemedModels.has(this.#model)) {
      const { clientId, accountId: userId, grantId, redirectUri } = stored;
      contextOf(context.req).credential = { clientId, userId, grantId, redirectUri, isRevoked };
    }
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#follow('uid', uid);
  }

  findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.#follow('userCode', userCode);
  }

  async consume(id: string): Promise<void> {
    const secondsToLive = lifetimes[this.#model as keyof typeof lifetimes];
    if (!(await this.#its.singleUse.claim({ id, key: this.#key(id) }, secondsToLive))) {
      throw this.#model === 'PushedAuthorizationRequest'
        ? new errors.InvalidRequestUri('request_uri was already used')
        : new errors.InvalidGrant('already used');
    }
  }

  async destroy(id: string): Promise<void> {
    if (this.#model === GRANT) {
      await this.#store.set(grantTombstoneKey(id), '', lifetimes.Grant, { revokes: true });
      await this.revokeByGrantId(id);
    }
    await this.#store.delete([this.#key(id)]);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    const keys = await this.#store.members(grantMembersKey(grantId));
    await this.#store.delete([...keys, grantMembersKey(grantId)]);
  }

  #belongsToGrant(payload: AdapterPayload): payload is AdapterPayload & { grantId: string } {
    return payload.grantId !== undefined && this.#model !== 'Interaction';
  }

  #key(id: string): string {
    return recordKey(this.#model, id, this.#its.credentialHash);
  }

  /** The age of a session counts from its sign-in. It may have existed before, without a user. */
  #findHolder(payload: AdapterPayload): Promise<LiveHolder | undefined> {
    const issuedAt = payload.loginTs ?? payload.iat ?? 0;
    const { clientId, accountId: userId } = payload;
    const { secureKeyId } = payload as TokenOfSecureKey;
    return this.#its.findLiveHolder({ issuedAt, clientId, userId, secureKeyId });
  }

  #encode(key: string, payload: AdapterPayload): string {
    const { jti: _value, ...rest } = payload;
    const text = JSON.stringify(rest);
    return sealedModels.has(this.#model) ? this.#its.sealer.seal(text, key) : text;
  }

  #decode(key: string, text: string, id: string): AdapterPayload | undefined {
    return this.#undamaged(key, () => {
      const opened = sealedModels.has(this.#model) ? this.#its.sealer.open(text, key) : text;
      return { ...asPayload(JSON.parse(opened)), jti: id };
    });
  }

  /**
   * An unreadable record is treated as not found, like an expired one. The client or user starts
   * again.
   */
  #undamaged<Value>(key: string, read: () => Value): Value | undefined {
    try {
      return read();
    } catch {
      this.#its.onDamagedRecord?.(this.#model, key);
      return undefined;
    }
  }

  /** An index entry: the HMAC of another name points to the sealed id. */
  async #point(kind: string, name: string, id: string, expiresIn: number): Promise<void> {
    const key = this.#pointerKey(kind, name);
    await this.#store.set(key, this.#its.sealer.seal(id, key), expiresIn);
  }

  async #follow(kind: string, name: string): Promise<AdapterPayload | undefined> {
    const key = this.#pointerKey(kind, name);
    const sealed = await this.#store.get(key);
    const id =
      sealed === undefined
        ? undefined
        : this.#undamaged(key, () => this.#its.sealer.open(sealed, key));
    return id === undefined ? undefined : this.find(id);
  }

  #pointerKey(kind: string, name: string): string {
    return `oidc:${this.#model}:${kind}:${this.#its.credentialHash(name)}`;
  }
}

/** @throws Error for JSON that is not a record */
function asPayload(value: unknown): AdapterPayload {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('The JSON is not a record.');
  }
  return value as AdapterPayload;
}

/**
 * The key of a provider record. The key of a credential is its HMAC, so its value is not stored.
 */
export function recordKey(model: string, id: string, credentialHash: CredentialHash): string {
  return model === GRANT ? grantKey(id) : credentialKey(model, credentialHash(id));
}
