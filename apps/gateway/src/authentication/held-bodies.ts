import { ApiError } from '@gatehouse/api-envelope';
import { addressGroup } from '@gatehouse/http-server';
import { BodyRoom, type BodyRoomLimits, type Occupant } from './body-room.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

export interface HeldBodiesLimits {
  /** Up to here a body is small. Most bodies are. */
  readonly smallBodyBytes: number;
  /** Reserved for small bodies. */
  readonly small: BodyRoomLimits;
  readonly large: BodyRoomLimits;
  /** A body that stops is rejected after this time. Every byte that arrives buys some of it back. */
  readonly patienceMilliseconds: number;
  readonly bytesPerSecond: number;
}

export const HELD_BODIES: HeldBodiesLimits = {
  smallBodyBytes: 64 * KIBIBYTE,
  small: { totalBytes: 32 * MEBIBYTE, addressBytes: 2 * MEBIBYTE },
  large: { totalBytes: 96 * MEBIBYTE, addressBytes: 4 * MEBIBYTE },
  patienceMilliseconds: 10_000,
  bytesPerSecond: 16 * KIBIBYTE,
};

/** The body of one request that is still being verified. */
export interface HeldBody {
  /** It arrives from now on. `refuse` is called at most once, where it has to go before it is complete. */
  begin(refuse: (error: Error) => void): void;
  /** @throws ApiError `payload_too_large` where it would never have room, `service_unavailable` where no body is slower */
  grow(bytes: number): void;
  /** It has arrived. It stays until it is verified. */
  complete(): void;
  /** It is verified, rejected or gone. */
  release(): void;
}

const LOOK_MILLISECONDS = 250;

/**
 * Bounds the memory that strangers take up: the gateway must read a signed body whole before it knows who signed
 * it. Unknown clients are not rejected earlier, since that would reveal which clients exist (SG-36), and a known
 * client id proves nothing before the signature does. A caller that sends slowly holds memory longest, so the
 * slowest body makes room first, and a minimum rate applies to all (CWE-400).
 */
export function createHeldBodies(limits: HeldBodiesLimits): (address: string) => HeldBody {
  const { smallBodyBytes, patienceMilliseconds, bytesPerSecond } = limits;
  const small = new BodyRoom(limits.small);
  const large = new BodyRoom(limits.large);
  const arriving = new Set<ArrivingBody>();
  let timer: NodeJS.Timeout | undefined;

  function rejectSlow(): void {
    const now = performance.now();
    for (const body of arriving) {
      if (body.patienceUntil < now) {
        body.release();
        body.evict(new ApiError('request_timeout'));
      }
    }
    if (arriving.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  class ArrivingBody implements HeldBody, Occupant {
    readonly group: string;
    bytes = 0;
    patienceUntil = 0;
    #room = small;
    #refuse: (error: Error) => void = () => {};

    constructor(address: string) {
      this.group = addressGroup(address);
    }

    begin(refuse: (error: Error) => void): void {
      this.#refuse = refuse;
      this.patienceUntil = performance.now() + patienceMilliseconds;
      arriving.add(this);
      timer ??= setInterval(rejectSlow, LOOK_MILLISECONDS).unref();
    }

    grow(bytes: number): void {
      const bought = (1000 * bytes) / bytesPerSecond;
      const most = performance.now() + patienceMilliseconds;
      this.patienceUntil = Math.min(most, this.patienceUntil + bought);
      const size = this.bytes + bytes;
      if (this.#room === small && size > smallBodyBytes) {
        small.leave(this);
        this.#room = large;
        large.take(this, size);
      } else {
        this.#room.take(this, bytes);
      }
    }

    complete(): void {
      this.patienceUntil = Number.POSITIVE_INFINITY;
      arriving.delete(this);
    }

    release(): void {
      this.#room.leave(this);
      arriving.delete(this);
    }

    evict(error: Error): void {
      arriving.delete(this);
      this.#refuse(error);
    }
  }

  return (address) => new ArrivingBody(address);
}
