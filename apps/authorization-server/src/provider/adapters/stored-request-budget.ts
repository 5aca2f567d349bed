/**
 * Pushed requests and device codes are the only records that an anonymous caller can put into the
 * store, and tokens without a user the only ones that a client can. Pushed requests and device
 * codes are limited in bytes: for an address group, for a client, and for all public clients
 * together. A client that authenticates has its own budget, whatever its address.
 * docs/security.md lists the sums.
 */
import type { Identity } from '@gatehouse/identity';
import { createStoreBudget, type Store, type StoreBudget, type Verdict } from '@gatehouse/store';
import type { Adapter } from 'oidc-provider';
import { addressGroupOf } from '../../http/address-group-of.ts';
import { type ByteBudget, chargeBudgets } from '../../throttle/byte-budget.ts';
import { TooManyAttemptsError } from '../../throttle/too-many-attempts-error.ts';
import { currentContext } from '../patches/current-context.ts';
import { lifetimes } from '../policy/lifetimes.ts';
import { assertParametersFit, parameterBytes } from '../policy/parameter-limit.ts';
import { EXPIRED_DEVICE_CODE_SECONDS } from './oidc-adapter.ts';
import { wrapAdapter } from './wrap-adapter.ts';

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

/** The most that one record of a token without a user costs the store, with its indexes. */
const machineRecordBytes = {
  ClientCredentials: 640,
  AccessToken: 896,
  RefreshToken: 1536,
  Grant: 768,
} as const;

type MachineModel = keyof typeof machineRecordBytes;

export type MachineTokenBudgets = ReadonlyMap<string, StoreBudget>;

/** The budgets of tokens without a user, by model. All processes share the counts. */
export function createMachineTokenBudgets(store: Store): MachineTokenBudgets {
  const models = Object.keys(machineRecordBytes) as MachineModel[];
  return new Map(
    models.map((model) => {
      const record = { bytes: machineRecordBytes[model], windowSeconds: lifetimes[model] };
      return [model, createStoreBudget(`machine-${model}`, record, { store, now: Date.now })];
    }),
  );
}

/** Throws TooManyAttemptsError before a record without a user is stored. */
export function limitMachineTokens(
  stored: Adapter,
  model: string,
  { identity, budgets }: { readonly identity: Identity; readonly budgets: MachineTokenBudgets },
): Adapter {
  const budget = budgets.get(model);
  const assertFits = (rejection: Verdict | undefined) => {
    if (rejection !== undefined) {
      const message =
        'The tokens of this client or its organization take up too much of the store.';
      throw new TooManyAttemptsError('stored_state_limit', rejection.resetsAt, Date.now(), message);
    }
  };
  return wrapAdapter(stored, {
    async upsert(id, payload, expiresIn) {
      const client =
        payload.accountId === undefined
          ? await identity.clients.find(payload.clientId ?? '')
          : undefined;
      if (budget !== undefined && client !== undefined) {
        // A request writes records of several models. The first must not be stored without the rest.
        for (const other of budgets.values()) {
          assertFits(other.knownRejection(client));
        }
        assertFits(await budget.take(client));
      }
      await stored.upsert(id, payload, expiresIn);
    },
  });
}
