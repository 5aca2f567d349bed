/**
 * What callers can put into the store. Pushed requests and device codes, also of anonymous callers,
 * are limited in bytes: for an address group, for a client, and for all public clients together. A
 * client that authenticates has its own budget, whatever its address. Tokens and codes are limited
 * for a machine or a user of a client, and for an organization. docs/security.md lists the sums.
 */
import type { Identity } from '@gatehouse/identity';
import { createStoreBudget, freeBytes, type Store, type Verdict } from '@gatehouse/store';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { addressGroupOf } from '../requests/caller.ts';
import { TryLaterError } from '../requests/failures.ts';
import { EXPIRED_DEVICE_CODE_SECONDS, lifetimes } from '../requests/lifetimes.ts';

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

/**
 * @param context of the request that the library serves
 * @throws TryLaterError, or InvalidRequest for parameters that are too long
 */
export async function chargeStoredRequest(
  store: Store,
  kind: keyof typeof storedRequestLimits,
  parameters: object | undefined,
  context: KoaContextWithOIDC | undefined,
): Promise<void> {
  const { windowSeconds, costOf, addressBytes, clientBytes, publicBytes } =
    storedRequestLimits[kind];
  const client = context?.oidc.client;
  const own = { party: `client:${client?.clientId}`, bytes: clientBytes };
  const isPublic = context !== undefined && client?.clientAuthMethod === 'none';
  const address = isPublic ? addressGroupOf(context.req) : '';
  const shared = [{ party: `address:${address}`, bytes: addressBytes }, own];
  const budgets = isPublic ? [...shared, { party: 'public', bytes: publicBytes }] : [own];
  const bytes = costOf(assertParametersFit(parameters));
  await chargeBudgets(store, { name: kind, bytes, windowSeconds, budgets });
}

/**
 * Charges a record to each budget before it is stored. It stops at the first one that is exhausted:
 * an address that is over its own budget must not use up those that it shares with others. A window
 * does not slide, so within one lifetime up to twice the budget can be stored. In a small or nearly
 * full store, no budget is larger than the free space.
 *
 * @throws TryLaterError
 */
export async function chargeBudgets(
  store: Store,
  charge: {
    readonly name: string;
    readonly bytes: number;
    readonly windowSeconds: number;
    /** The number of bytes that a party may store within a window. */
    readonly budgets: readonly { readonly party: string; readonly bytes: number }[];
  },
): Promise<void> {
  const free = freeBytes(await store.ping());
  for (const budget of charge.budgets) {
    const key = `stored-bytes:${charge.name}:${budget.party}`;
    const { count, resetsAt } = await store.increment(key, charge.windowSeconds, charge.bytes);
    if (count > Math.min(budget.bytes, free)) {
      const message = 'Too much is stored for this address, this client, or all public clients.';
      throw new TryLaterError('stored_state_limit', resetsAt, message);
    }
  }
}

/** The records that a client writes at the token endpoint, and those that it redeems there. */
export const limitedModels: ReadonlySet<string> = new Set([
  ...['ClientCredentials', 'AccessToken', 'RefreshToken', 'Grant'],
  ...['AuthorizationCode', 'DeviceCode'],
]);

export type TokenBudgets = ReturnType<typeof createTokenBudgets>;

interface Holder {
  readonly clientId?: string | undefined;
  readonly accountId?: string | undefined;
}

/**
 * All processes share the counts. A user has one budget for all records of a client, within two
 * hours: one user must not use up the budget of all others.
 */
export function createTokenBudgets({ store, clients, users }: Identity) {
  const create = (name: string, bytes: number, windowSeconds: number) =>
    createStoreBudget(name, { bytes, windowSeconds }, { store, now: Date.now });
  // An estimate: the budget shrinks by what the records of a user really take.
  const user = create('user', 1024, lifetimes.AccessToken);
  // The most that a record of each model costs the store, with its indexes.
  const machines = {
    ClientCredentials: create('machine-ClientCredentials', 640, lifetimes.ClientCredentials),
    AccessToken: create('machine-AccessToken', 896, lifetimes.AccessToken),
    RefreshToken: create('machine-RefreshToken', 1536, lifetimes.RefreshToken),
    Grant: create('machine-Grant', 768, lifetimes.Grant),
  };
  const { ClientCredentials: machineTokens, ...family } = machines;

  /** The first of several records must not be stored without the rest. */
  async function assertOpen(model: string, { clientId = '', accountId }: Holder) {
    const isMachine = accountId === undefined;
    const client = await clients.find(clientId);
    const account = isMachine ? undefined : await users.find(accountId);
    // Anyone can act as a public client, so the organization of the user answers for it.
    const orgId = (client?.public === true ? (account ?? client) : client)?.orgId;
    if (orgId === undefined) {
      return undefined;
    }
    const party = { clientId: isMachine ? clientId : `${clientId}:${accountId}`, orgId };
    const written = model === 'ClientCredentials' ? [machineTokens] : Object.values(family);
    for (const budget of isMachine ? written : [user]) {
      assertFits(budget.knownRejection(party));
    }
    return { party, budget: isMachine ? machines[model as keyof typeof machines] : user };
  }

  return {
    machineTokens,
    /** @throws TryLaterError before a code or token is redeemed for records that do not fit */
    assertRedeemable: (redeemed: Holder) => assertOpen('', redeemed),
    /** @throws TryLaterError before a record is stored that does not fit */
    async take(model: string, holder: Holder): Promise<void> {
      const { party, budget } = (await assertOpen(model, holder)) ?? {};
      assertFits(party && (await budget?.take(party)));
    },
  };
}

function assertFits(rejection: Verdict | undefined): void {
  if (rejection !== undefined) {
    const message =
      'The tokens of this client or user, or of its organization, take up too much of the store.';
    throw new TryLaterError('stored_state_limit', rejection.resetsAt, message);
  }
}

/**
 * Stored parameters of one request, as JSON in UTF-8. They fit into cookies, and real clients send
 * far less.
 */
export const MAXIMUM_PARAMETER_BYTES = 4096;

/**
 * @returns the length of the parameters in bytes
 * @throws InvalidRequest with the length of the parameters and the limit
 */
export function assertParametersFit(parameters: object | undefined): number {
  const bytes = Buffer.byteLength(JSON.stringify(parameters ?? {}));
  if (bytes > MAXIMUM_PARAMETER_BYTES) {
    throw new errors.InvalidRequest(
      `The parameters are ${bytes} bytes long in total. The limit is ${MAXIMUM_PARAMETER_BYTES} bytes.`,
    );
  }
  return bytes;
}
