import {
  type Client,
  type CredentialHash,
  type FindLiveHolder,
  grantMembersKey,
  grantTombstoneKey,
  isGrantRevoked,
  type LiveHolder,
  type OnDamagedRecord,
  type Sealer,
} from '@gatehouse/identity';
import type { Store } from '@gatehouse/store';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { TokenOfSecureKey } from '../patches/secure-keys-of-tokens.ts';
import { lifetimes } from '../policy/lifetimes.ts';
import { endedSessionKey } from '../policy/sessions.ts';
import { GRANT, recordKey } from './record-key.ts';
import type { SingleUse } from './single-use.ts';

/**
 * oidc-provider's persistence over the Store. Decided here, each for a reason the library leaves open:
 * - Nothing readable at rest: a credential is stored under its HMAC and its value is nowhere in the payload;
 *   payloads that carry other secrets are sealed whole.
 * - Single use is one `claim`; the loser of a race gets `invalid_grant` and revokes nothing. What was redeemed
 *   before this request came is found as consumed, and the library then kills what it gave.
 * - What was issued at or before the not-before of its client, its user or the installation is not found, nor what
 *   was issued with a secure key that was removed since.
 * - What was taken from a client since is taken from what it holds: a code or refresh token gives no scope again.
 * - Nothing outlives its grant: index, write, then look for the grant's tombstone, and take back.
 */
export interface AdapterDependencies {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
  readonly sealer: Sealer;
  /** How this model is used up, where it is. */
  readonly singleUse: SingleUse;
  readonly findLiveHolder: FindLiveHolder;
  readonly onDamagedRecord?: OnDamagedRecord | undefined;
}

/** Their payloads carry session ids, user codes or return addresses that work like credentials. */
const sealedModels = new Set([
  'Session',
  'Interaction',
  'DeviceCode',
  'PushedAuthorizationRequest',
]);
const consumableModels = new Set([
  'AuthorizationCode',
  'RefreshToken',
  'DeviceCode',
  'PushedAuthorizationRequest',
]);
/** Kept this much longer, so that device and person hear that it expired (RFC 8628 §3.5 `expired_token`). */
export const EXPIRED_DEVICE_CODE_SECONDS = 600;

const expiryOf = (expiresIn: number) => Date.now() + expiresIn * 1000;

/** The ids of what a user has granted; those that were revoked since are found to be gone. */
export const userGrantsKey = (userId: string) => `user-grants:${userId}`;

export class OidcAdapter implements Adapter {
  readonly #model: string;
  readonly #store: Store;
  readonly #credentialHash: CredentialHash;
  readonly #sealer: Sealer;
  readonly #singleUse: SingleUse;
  readonly #findLiveHolder: FindLiveHolder;
  readonly #onDamagedRecord: OnDamagedRecord | undefined;

  constructor(model: string, dependencies: AdapterDependencies) {
    this.#model = model;
    this.#store = dependencies.store;
    this.#credentialHash = dependencies.credentialHash;
    this.#sealer = dependencies.sealer;
    this.#singleUse = dependencies.singleUse;
    this.#findLiveHolder = dependencies.findLiveHolder;
    this.#onDamagedRecord = dependencies.onDamagedRecord;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    const key = this.#key(id);
    const belongsToGrant = this.#belongsToGrant(payload);
    if (belongsToGrant) {
      await this.#store.addToIndex(grantMembersKey(payload.grantId), key, expiryOf(expiresIn));
    }
    if (this.#model === GRANT && payload.accountId !== undefined) {
      await this.#store.addToIndex(userGrantsKey(payload.accountId), id, expiryOf(expiresIn));
    }
    const kept = this.#model === 'DeviceCode' ? expiresIn + EXPIRED_DEVICE_CODE_SECONDS : expiresIn;
    await this.#store.set(key, this.#encode(key, payload), kept);
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
      await this.#refuseEndedSession(key, payload.uid);
    }
  }

  /** A request that was under way while the session was ended would write it back, cookie and all. */
  async #refuseEndedSession(key: string, uid: string | undefined): Promise<void> {
    const endedKey = endedSessionKey(this.#credentialHash(uid ?? ''));
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
    if (holder === undefined || isRevoked) {
      return undefined;
    }
    const payload = withoutTakenScopes(stored, holder.client);
    if (!consumableModels.has(this.#model)) {
      return payload;
    }
    if (await this.#singleUse.isRedeemed({ id, key })) {
      return { ...payload, consumed: true };
    }
    await this.#singleUse.assertMayPresent?.({ id, key });
    return payload;
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#follow('uid', uid);
  }

  findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.#follow('userCode', userCode);
  }

  async consume(id: string): Promise<void> {
    const secondsToLive = lifetimes[this.#model as keyof typeof lifetimes];
    if (!(await this.#singleUse.claim({ id, key: this.#key(id) }, secondsToLive))) {
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
    return recordKey(this.#model, id, this.#credentialHash);
  }

  /** A session is as old as its sign-in: it may have begun before, with nobody in it. */
  #findHolder(payload: AdapterPayload): Promise<LiveHolder | undefined> {
    const issuedAt = payload.loginTs ?? payload.iat ?? 0;
    const { clientId, accountId: userId } = payload;
    const { secureKeyId } = payload as TokenOfSecureKey;
    return this.#findLiveHolder({ issuedAt, clientId, userId, secureKeyId });
  }

  #encode(key: string, payload: AdapterPayload): string {
    const { jti: _value, ...rest } = payload;
    const text = JSON.stringify(rest);
    return sealedModels.has(this.#model) ? this.#sealer.seal(text, key) : text;
  }

  #decode(key: string, text: string, id: string): AdapterPayload | undefined {
    return this.#undamaged(() => {
      const opened = sealedModels.has(this.#model) ? this.#sealer.open(text, key) : text;
      return { ...asPayload(JSON.parse(opened)), jti: id };
    });
  }

  /** A record that cannot be read is not found, like an expired one: the client or the person starts again. */
  #undamaged<Value>(read: () => Value): Value | undefined {
    try {
      return read();
    } catch {
      this.#onDamagedRecord?.(this.#model);
      return undefined;
    }
  }

  /** A second way to a payload: HMAC of the other name → the sealed id. */
  async #point(kind: string, name: string, id: string, expiresIn: number): Promise<void> {
    const key = this.#pointerKey(kind, name);
    await this.#store.set(key, this.#sealer.seal(id, key), expiresIn);
  }

  async #follow(kind: string, name: string): Promise<AdapterPayload | undefined> {
    const key = this.#pointerKey(kind, name);
    const sealed = await this.#store.get(key);
    const id =
      sealed === undefined ? undefined : this.#undamaged(() => this.#sealer.open(sealed, key));
    return id === undefined ? undefined : this.find(id);
  }

  #pointerKey(kind: string, name: string): string {
    return `oidc:${this.#model}:${kind}:${this.#credentialHash(name)}`;
  }
}

function withoutTakenScopes(payload: AdapterPayload, client: Client | undefined): AdapterPayload {
  if (client === undefined || typeof payload.scope !== 'string') {
    return payload;
  }
  const kept = payload.scope.split(' ').filter((scope) => client.scopes.includes(scope));
  return { ...payload, scope: kept.join(' ') };
}

/** @throws Error for a text that is JSON and no record */
function asPayload(value: unknown): AdapterPayload {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('This is no record.');
  }
  return value as AdapterPayload;
}
