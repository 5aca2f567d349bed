import { serviceUnavailable } from '@gatehouse/api-envelope';
import { addressGroup } from '@gatehouse/http-server';

const MEBIBYTE = 1024 * 1024;

export interface HeldBodiesLimits {
  readonly totalBytes: number;
  /** Of one address (an IPv6 /56 counts as one), so that nobody takes the whole. */
  readonly addressBytes: number;
}

export const HELD_BODIES: HeldBodiesLimits = {
  totalBytes: 128 * MEBIBYTE,
  addressBytes: 32 * MEBIBYTE,
};

/** The body of one request that is still being verified. */
export interface HeldBody {
  /** @throws ApiError `service_unavailable` when as much is held as may be */
  grow(bytes: number): void;
  /** It is verified, refused or gone. */
  release(): void;
}

/**
 * How much memory strangers take up: a signed body must be read whole before anybody knows who signed it.
 * Unknown clients are not refused earlier, since that would tell which clients there are (SG-36), and known
 * ones are no better before their digest is right; so what all of them hold together is bounded.
 */
export function createHeldBodies({
  totalBytes,
  addressBytes,
}: HeldBodiesLimits): (address: string) => HeldBody {
  const byGroup = new Map<string, number>();
  let total = 0;
  return (address) => {
    let group = '';
    let own = 0;
    return {
      grow(bytes) {
        group ||= addressGroup(address);
        const ofGroup = (byGroup.get(group) ?? 0) + bytes;
        if (total + bytes > totalBytes || ofGroup > addressBytes) {
          throw serviceUnavailable(new Error('Too many signed bodies are waiting to be verified.'));
        }
        own += bytes;
        total += bytes;
        byGroup.set(group, ofGroup);
      },
      release() {
        if (own === 0) {
          return;
        }
        const left = (byGroup.get(group) ?? 0) - own;
        if (left > 0) {
          byGroup.set(group, left);
        } else {
          byGroup.delete(group);
        }
        total -= own;
        own = 0;
      },
    };
  };
}
