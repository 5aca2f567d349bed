/**
 * Pushed requests and device codes are the only records that an anonymous caller can put into the
 * store. Both are limited in bytes: for an address group, for a client, and for all public clients
 * together. A client that authenticates has its own budget, whatever its address.
 * docs/security.md lists the sums.
 */
import type { Store } from '@gatehouse/store';
import type { Adapter } from 'oidc-provider';
import { addressGroupOf } from '../../http/address-group-of.ts';
import { type ByteBudget, chargeBudgets } from '../../throttle/byte-budget.ts';
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
