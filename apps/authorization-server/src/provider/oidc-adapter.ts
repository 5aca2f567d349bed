import {
  type CredentialHash,
  clientRecordsKey,
  credentialKey,
  destroyGrant,
  endedSessionKey,
  grantKey,
  grantMembersKey,
  type Identity,
  isGrantRevoked,
  userGrantsKey,
  userSessionsKey,
} from '@gatehouse/identity';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { TryLaterError } from '../requests/failures.ts';
import { EXPIRED_DEVICE_CODE_SECONDS, lifetimes } from '../requests/lifetimes.ts';
import { withoutLostScopes } from './claims.ts';
import { type StoredToken, tokenModels } from './client-patches.ts';
import { currentRequest } from './library.ts';
import type { SingleUse } from './single-use.ts';

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
/** The other tokens are in the index of their Grant. */
const clientRecordModels = new Set(['ClientCredentials', 'Grant']);

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
export function createOidcAdapter(model: string, dependencies: AdapterDependencies): Adapter {
  const { store, credentialHash, singleUse } = dependencies;
  const records = createRecords(model, dependencies);
  const keyOf = (id: string) => recordKey(model, id, credentialHash);

  async function find(id: string): Promise<AdapterPayload | undefined> {
    const key = keyOf(id);
    const stored = await records.read(key, id);
    if (stored === undefined) {
      return undefined;
    }
    const grantId = grantOf(stored, model);
    const [holder, isGrantOver] = await Promise.all([
      findHolder(stored, dependencies),
      grantId !== undefined && isGrantRevoked(store, grantId),
    ]);
    const isRevoked = holder === undefined || isGrantOver;
    // So that an error can be explained without another read of the store. A replayed credential is
    // deleted together with its grant before its error is handled.
    if (redeemedModels.has(model)) {
      const { clientId, accountId: userId, exp: expiresAt } = stored;
      currentRequest().credential = { clientId, userId, grantId, isRevoked, expiresAt };
    }
    if (isRevoked) {
      return undefined;
    }
    const payload = withoutLostScopes(stored, holder.client);
    if (consumableModels.has(model)) {
      if (await singleUse.isRedeemed({ id, key })) {
        return { ...payload, consumed: true };
      }
      await singleUse.assertMayPresent?.({ id, key });
    }
    return payload;
  }

  async function follow(kind: string, name: string): Promise<AdapterPayload | undefined> {
    const id = await records.follow(kind, name);
    return id === undefined ? undefined : find(id);
  }

  return {
    upsert: createUpsert(model, dependencies, records),
    find,
    findByUid: (uid) => follow('uid', uid),
    findByUserCode: (userCode) => follow('userCode', userCode),
    async consume(id) {
      const { expiresAt } = (redeemedModels.has(model) && currentRequest().credential) || {};
      const secondsToLive =
        expiresAt === undefined
          ? lifetimes[model as keyof typeof lifetimes]
          : Math.max(1, expiresAt - Math.floor(Date.now() / 1000));
      if (!(await singleUse.claim({ id, key: keyOf(id) }, secondsToLive))) {
        throw model === 'PushedAuthorizationRequest'
          ? new errors.InvalidRequestUri('request_uri was already used')
          : new errors.InvalidGrant('already used');
      }
    },
    async destroy(id) {
      await (model === 'Grant' ? destroyGrant(store, id, Date.now()) : store.delete([keyOf(id)]));
    },
    async revokeByGrantId(grantId) {
      const keys = await store.members(grantMembersKey(grantId));
      await store.delete([...keys, grantMembersKey(grantId)]);
    },
  };
}

function createUpsert(
  model: string,
  dependencies: AdapterDependencies,
  records: ReturnType<typeof createRecords>,
): Adapter['upsert'] {
  const { store, credentialHash } = dependencies;
  return async (id: string, payload: AdapterPayload, expiresIn: number) => {
    const key = recordKey(model, id, credentialHash);
    const expiresAt = Date.now() + expiresIn * 1000;
    const grantId = grantOf(payload, model);
    const { accountId, clientId, uid, userCode } = payload;
    if (tokenModels.some((name) => name === model)) {
      await assertIssuable(payload, dependencies);
    }
    if (grantId !== undefined) {
      await store.addToIndex(grantMembersKey(grantId), key, expiresAt);
    }
    if (model === 'Grant' && accountId !== undefined) {
      await store.addToIndex(userGrantsKey(accountId), id, expiresAt);
    }
    if (model === 'Session' && accountId !== undefined) {
      await store.addToIndex(userSessionsKey(accountId), key, expiresAt);
    }
    const kept = model === 'DeviceCode' ? expiresIn + EXPIRED_DEVICE_CODE_SECONDS : expiresIn;
    const index =
      clientId !== undefined && clientRecordModels.has(model)
        ? store.addToIndex(clientRecordsKey(clientId, key), key, expiresAt)
        : undefined;
    await Promise.all([index, records.write(key, payload, kept)]);
    if (uid !== undefined && model === 'Session') {
      await records.point('uid', uid, id, expiresIn);
    }
    if (userCode !== undefined) {
      await records.point('userCode', userCode, id, kept);
    }
    if (grantId !== undefined && (await isGrantRevoked(store, grantId))) {
      await store.delete([key]);
      throw new errors.InvalidGrant('the grant was revoked');
    }
    // A request that runs while the session ends would otherwise write the session back.
    const endedKey = endedSessionKey(credentialHash(uid ?? ''));
    if (model === 'Session' && (await store.get(endedKey)) !== undefined) {
      await store.delete([key]);
      throw new errors.SessionNotFound('the session was ended');
    }
  };
}

/** The records of a model in the store. An unreadable one is not found, like an expired one. */
function createRecords(
  model: string,
  { store, credentialHash, sealer, onDamagedRecord }: AdapterDependencies,
) {
  const isSealed = sealedModels.has(model);
  const pointerKey = (kind: string, name: string) =>
    `oidc:${model}:${kind}:${credentialHash(name)}`;

  async function readUndamaged<Value>(key: string, parse: (text: string) => Value) {
    const text = await store.get(key);
    try {
      return text === undefined ? undefined : parse(text);
    } catch {
      onDamagedRecord?.(model, key);
      return undefined;
    }
  }

  return {
    write(key: string, { jti: _value, ...payload }: AdapterPayload, seconds: number) {
      const text = JSON.stringify(payload);
      return store.set(key, isSealed ? sealer.seal(text, key) : text, seconds);
    },
    read: (key: string, id: string) =>
      readUndamaged(key, (text): AdapterPayload => {
        const payload: unknown = JSON.parse(isSealed ? sealer.open(text, key) : text);
        if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
          throw new Error('The JSON is not a record.');
        }
        return { ...payload, jti: id };
      }),
    /** An index entry: the HMAC of another name points to the sealed id. */
    point(kind: string, name: string, id: string, seconds: number) {
      const key = pointerKey(kind, name);
      return store.set(key, sealer.seal(id, key), seconds);
    },
    follow(kind: string, name: string) {
      const key = pointerKey(kind, name);
      return readUndamaged(key, (sealed) => sealer.open(sealed, key));
    },
  };
}

/** @throws TryLaterError if a not-before would make the token invalid at once */
export async function assertIssuable(
  payload: AdapterPayload & Pick<StoredToken, 'secureKeyId'>,
  dependencies: Pick<Identity, 'findLiveHolder'>,
): Promise<void> {
  const iat = (payload.iat ?? 0) + 2;
  // A holder that is disabled stays invalid. The library rejects it in the next request.
  if (
    (await findHolder(payload, dependencies)) === undefined &&
    (await findHolder({ ...payload, iat }, dependencies)) !== undefined
  ) {
    const message = 'A revocation is taking effect.';
    throw new TryLaterError('revocation_pending', iat * 1000, message);
  }
}

/** The age of a session counts from its sign-in. It may have existed before, without a user. */
function findHolder(
  payload: AdapterPayload & Pick<StoredToken, 'secureKeyId'>,
  { findLiveHolder }: Pick<Identity, 'findLiveHolder'>,
) {
  const { clientId, accountId: userId, secureKeyId, loginTs, iat = 0 } = payload;
  return findLiveHolder({ issuedAt: loginTs ?? iat, clientId, userId, secureKeyId });
}

/** The grant that the record belongs to. An interaction only refers to one. */
function grantOf({ grantId }: AdapterPayload, model: string): string | undefined {
  return model === 'Interaction' ? undefined : grantId;
}

/**
 * The key of a provider record. The key of a credential is its HMAC, so its value is not stored.
 * The id of a Grant is not a credential. It stays readable, so that an operator can name it.
 */
export function recordKey(model: string, id: string, credentialHash: CredentialHash): string {
  return model === 'Grant' ? grantKey(id) : credentialKey(model, credentialHash(id));
}
