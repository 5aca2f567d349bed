import { ApiError } from '@gatehouse/errors';
import type { Client } from '@gatehouse/identity';
import { type AddressMatcher, createAddressMatcher } from '@gatehouse/server';
import { bearerChallenge } from './challenge.ts';

const matchers = new WeakMap<readonly string[], AddressMatcher>();

/** @throws ApiError `access_denied` when the client's allowlist does not contain the address */
export function assertAllowedAddress(client: Client, address: string): void {
  if (client.ipAllowList.length === 0) {
    return;
  }
  let matcher = matchers.get(client.ipAllowList);
  if (matcher === undefined) {
    matcher = createAddressMatcher(client.ipAllowList);
    matchers.set(client.ipAllowList, matcher);
  }
  if (!matcher(address)) {
    throw new ApiError('access_denied', {
      message: 'This client may not be used from this address.',
      headers: bearerChallenge(),
      reason: 'address_not_allowed',
    });
  }
}
