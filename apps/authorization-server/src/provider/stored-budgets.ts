/**
 * What callers can put into the store. Pushed requests and device codes, also of anonymous callers,
 * are limited in bytes: for an address group, for a client, and for all public clients together. A
 * client that authenticates has its own budget, whatever its address. Tokens and codes are limited
 * for a machine or a user of a client, and for an organization. docs/security.md lists the sums.
 */
import type { Identity } from '@gatehouse/identity';
import {
  createStoreBudget,
  freeBytes,
  type Store,
  type StoreBudget,
  type Verdict,
} from '@gatehouse/store';
import { type Adapter, errors } from 'oidc-provider';
import { addressGroupOf } from '../requests/caller.ts';
import { TooManyAttemptsError } from '../requests/too-many-attempts-error.ts';
import { currentContext, wrapAdapter } from './library.ts';
import { lifetimes } from './lifetimes.ts';
import { EXPIRED_DEVICE_CODE_SECONDS } from './oidc-adapter.ts';

const MIB = 1024 * 1024;

/** The most that one request costs the store, and how much of it is allowed within its lifetime. */
export const storedRequestLimits = {
  pushed: {
    windowSeconds: lifetimes.PushedAuthorizationRequest,
    /** A token of the parameters, sealed: base64url of base64url. */
    costOf: (parameters: number) => 1024 + Math.ceil(2.25 * parameters),
    addressBytes: MIB,
    clientBytes: 2 * MIB,
    publicBytes: 4 * MIB,
  },
  device: {
    windowSeconds: lifetimes.DeviceCode + EXPIRED_DEVICE_CODE_SECONDS,
    /**
     * The sealed record, its user code, its polling counter, and a claim for each step that a
     * browser can take.
     */
    costOf: (parameters: number) => 2048 + Math.ceil(1.75 * parameters),
    addressBytes: MIB,
    clientBytes: 4 * MIB,
    publicBytes: 8 * MIB,
  },
} as const;

type StoredRequest = keyof typeof storedRequestLimits;

/**
 * The record of a pushed request holds its parameters as a token, so they are read from the
 * request.
 */
export function limitPushedRequests(stored: Adapter, store: Store): Adapter {
  return wrapAdapter(stored, {
    async upsert(id, payload, expiresIn) {
      await chargeStoredRequest(store, 'pushed', currentContext()?.oidc.params);
      await stored.upsert(id, payload, expiresIn);
    },
  });
}

/** @throws BudgetExhaustedError, or InvalidRequest for parameters that are too long */
export async function chargeStoredRequest(
  store: Store,
  kind: StoredRequest,
  parameters: object | undefined,
): Promise<void> {
  assertParametersFit(parameters);
  const { windowSeconds, costOf } = storedRequestLimits[kind];
  const bytes = costOf(parameterBytes(parameters));
  await chargeBudgets(store, { name: kind, bytes, windowSeconds, budgets: budgetsOf(kind) });
}

function budgetsOf(kind: StoredRequest): readonly ByteBudget[] {
  const { addressBytes, clientBytes, publicBytes } = storedRequestLimits[kind];
  const { oidc, req } = currentContext() ?? {};
  const client = { party: `client:${oidc?.client?.clientId}`, bytes: clientBytes };
  if (req === undefined || oidc?.client?.clientAuthMethod !== 'none') {
    return [client];
  }
  const address = { party: `address:${addressGroupOf(req)}`, bytes: addressBytes };
  return [address, client, { party: 'public', bytes: publicBytes }];
}

/** The number of bytes that a party may store within a window. */
interface ByteBudget {
  /** Part of the counter's key. */
  readonly party: string;
  readonly bytes: number;
}

/** Thrown before anything is stored. */
export class BudgetExhaustedError extends TooManyAttemptsError {
  constructor(resetsAt: number, now: number) {
    super('stored_state_limit', resetsAt, now);
    this.name = 'BudgetExhaustedError';
    this.message = 'Too much is stored for this address, this client, or all public clients.';
  }
}

/**
 * Charges a record to each budget before it is stored. It stops at the first one that is exhausted:
 * an address that is over its own budget must not use up those that it shares with others. A window
 * does not slide, so within one lifetime up to twice the budget can be stored. In a small or nearly
 * full store, no budget is larger than the free space.
 *
 * @throws BudgetExhaustedError
 */
export async function chargeBudgets(
  store: Store,
  charge: {
    readonly name: string;
    readonly bytes: number;
    readonly windowSeconds: number;
    readonly budgets: readonly ByteBudget[];
  },
): Promise<void> {
  const free = freeBytes(await store.ping());
  for (const budget of charge.budgets) {
    const key = `stored-bytes:${charge.name}:${budget.party}`;
    const { count, resetsAt } = await store.increment(key, charge.windowSeconds, charge.bytes);
    if (count > Math.min(budget.bytes, free)) {
      throw new BudgetExhaustedError(resetsAt, Date.now());
    }
  }
}

/** The most that one record of a token without a user costs the store, with its indexes. */
const machineRecordBytes = {
  ClientCredentials: 640,
  AccessToken: 896,
  RefreshToken: 1536,
  Grant: 768,
} as const;

/** An estimate. The budget shrinks by what the records really take. */
const USER_RECORD_BYTES = 1024;

/** The records that a client writes at the token endpoint, and those that it redeems there. */
export const limitedModels: ReadonlySet<string> = new Set([
  ...Object.keys(machineRecordBytes),
  'AuthorizationCode',
  'DeviceCode',
]);

export interface TokenBudgets {
  /** By model, within the lifetime of its records. */
  readonly machines: ReadonlyMap<string, StoreBudget>;
  /**
   * All records of a user of a client, within two hours. One user must not use up the budget of all
   * others.
   */
  readonly users: StoreBudget;
}

/** All processes share the counts. */
export function createTokenBudgets(store: Store): TokenBudgets {
  const create = (name: string, bytes: number, windowSeconds: number) =>
    createStoreBudget(name, { bytes, windowSeconds }, { store, now: Date.now });
  const models = Object.keys(machineRecordBytes) as (keyof typeof machineRecordBytes)[];
  return {
    machines: new Map(
      models.map((model) => [
        model,
        create(`machine-${model}`, machineRecordBytes[model], lifetimes[model]),
      ]),
    ),
    users: create('user', USER_RECORD_BYTES, lifetimes.AccessToken),
  };
}

/**
 * Throws TooManyAttemptsError before a record is stored, and before a code or refresh token is
 * redeemed for records that would not fit. Otherwise, the client would lose it.
 */
export function limitTokens(
  stored: Adapter,
  model: string,
  { identity, budgets }: { readonly identity: Identity; readonly budgets: TokenBudgets },
): Adapter {
  const { machines, users } = budgets;

  /** @returns how to take the record from its budget */
  async function assertOpen({ clientId = '', accountId }: Holder) {
    const isMachine = accountId === undefined;
    const client = await identity.clients.find(clientId);
    const user = isMachine ? undefined : await identity.users.find(accountId);
    // Anyone can act as a public client, so the organization of the user answers for it.
    const holder = client?.public === true ? (user ?? client) : client;
    if (holder === undefined) {
      return undefined;
    }
    const party = {
      clientId: isMachine ? clientId : `${clientId}:${accountId}`,
      orgId: holder.orgId,
    };
    // A request writes records of several models. The first must not be stored without the rest.
    for (const budget of isMachine ? machines.values() : [users]) {
      assertFits(budget.knownRejection(party));
    }
    return async () => assertFits(await (isMachine ? machines.get(model) : users)?.take(party));
  }

  return wrapAdapter(stored, {
    async upsert(id, payload, expiresIn) {
      const take = await assertOpen(payload);
      await take?.();
      await stored.upsert(id, payload, expiresIn);
    },
    async consume(id) {
      const { RefreshToken, AuthorizationCode, DeviceCode } = currentContext()?.oidc.entities ?? {};
      const redeemed = RefreshToken ?? AuthorizationCode ?? DeviceCode;
      if (redeemed !== undefined) {
        await assertOpen(redeemed);
      }
      await stored.consume(id);
    },
  });
}

interface Holder {
  readonly clientId?: string | undefined;
  readonly accountId?: string | undefined;
}

function assertFits(rejection: Verdict | undefined): void {
  if (rejection !== undefined) {
    throw new TooManyAttemptsError(
      'stored_state_limit',
      rejection.resetsAt,
      Date.now(),
      'The tokens of this client or user, or of its organization, take up too much of the store.',
    );
  }
}

/**
 * Stored parameters of one request, as JSON in UTF-8. They fit into cookies, and real clients send
 * far less.
 */
export const MAXIMUM_PARAMETER_BYTES = 4096;

function parameterBytes(parameters: object | undefined): number {
  return Buffer.byteLength(JSON.stringify(parameters ?? {}));
}

/** @throws InvalidRequest with the length of the parameters and the limit */
export function assertParametersFit(parameters: object | undefined): void {
  const bytes = parameterBytes(parameters);
  if (bytes > MAXIMUM_PARAMETER_BYTES) {
    throw new errors.InvalidRequest(
      `The parameters are ${bytes} bytes long in total. The limit is ${MAXIMUM_PARAMETER_BYTES} bytes.`,
    );
  }
}
