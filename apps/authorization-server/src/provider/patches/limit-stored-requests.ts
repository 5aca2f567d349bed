/**
 * Pushed requests and device codes are the only records that an anonymous caller can put into the store, so both are
 * bounded in bytes: for an address group, for a client, and for all public clients together. A client that authenticates
 * has a budget of its own, whatever its address. docs/operations.md lists the sums.
 */
import type { Identity } from '@gatehouse/identity';
import Provider from 'oidc-provider';
import { clientAddress } from '../../http/client-address.ts';
import { type ByteBudget, chargeBudgets } from '../../throttle/byte-budget.ts';
import { EXPIRED_DEVICE_CODE_SECONDS } from '../adapters/oidc-adapter.ts';
import { lifetimes } from '../policy/lifetimes.ts';
import { assertParametersFit, parameterBytes } from '../policy/parameter-limit.ts';
import { stageOf } from './device-codes.ts';

const MIB = 1024 * 1024;

/** What one request costs the store at most, and how much of it is allowed within its lifetime. */
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
    /** The record, sealed; its user code, its polling counter, and a claim for each step that a browser can take. */
    costOf: (parameters: number) => 2048 + Math.ceil(1.75 * parameters),
    addressBytes: MIB,
    clientBytes: 4 * MIB,
    publicBytes: 8 * MIB,
  },
} as const;

type StoredRequest = keyof typeof storedRequestLimits;

export function limitStoredRequests(provider: Provider, { store }: Pick<Identity, 'store'>): void {
  /** @throws BudgetExhausted, or InvalidRequest for parameters that are too long */
  async function admit(kind: StoredRequest, parameters: object | undefined): Promise<void> {
    assertParametersFit(parameters);
    const { windowSeconds, costOf } = storedRequestLimits[kind];
    const bytes = costOf(parameterBytes(parameters));
    await chargeBudgets(store, { name: kind, bytes, windowSeconds, budgets: budgetsOf(kind) });
  }

  const pushed = provider.PushedAuthorizationRequest.prototype;
  const savePushed = pushed.save;
  pushed.save = async function saveWithinBudget(...parameters) {
    await admit('pushed', Provider.ctx?.oidc.params);
    return savePushed.apply(this, parameters);
  };

  const device = provider.DeviceCode.prototype;
  const saveDevice = device.save;
  device.save = async function saveWithinBudget(...parameters) {
    if (stageOf(this) === 'new') {
      await admit('device', this.params);
    }
    return saveDevice.apply(this, parameters);
  };
}

function budgetsOf(kind: StoredRequest): readonly ByteBudget[] {
  const { addressBytes, clientBytes, publicBytes } = storedRequestLimits[kind];
  const { oidc, req } = Provider.ctx ?? {};
  const client = { party: `client:${oidc?.client?.clientId}`, bytes: clientBytes };
  if (req === undefined || oidc?.client?.clientAuthMethod !== 'none') {
    return [client];
  }
  const address = { party: `address:${clientAddress(req)}`, bytes: addressBytes };
  return [address, client, { party: 'public', bytes: publicBytes }];
}
