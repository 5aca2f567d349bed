import { ApiError } from '@gatehouse/errors';
import { addressGroup } from '@gatehouse/server';
import { BodyRoom, type BodyRoomLimits, type Occupant } from './body-room.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

export interface HeldBodiesLimits {
  /** The largest small body. Most bodies are small. */
  readonly smallBodyBytes: number;
  /** Reserved for small bodies. */
  readonly small: BodyRoomLimits;
  readonly large: BodyRoomLimits;
  /**
   * A body that stops is rejected after this time. Each byte that arrives extends the time again.
   */
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

/** The body of one request until the gateway has verified it. */
export interface HeldBody {
  /**
   * The body begins to arrive. `refuse` is called at most once, if it is evicted before its end.
   */
  begin(refuse: (error: Error) => void): void;
  /**
   * @throws ApiError `payload_too_large` if the body can never fit, `service_unavailable` if it is
   *   the slowest
   */
  grow(bytes: number): void;
  /** The body is complete. It cannot be evicted anymore. */
  complete(): void;
  /** The body was verified or rejected, or its caller left. */
  release(): void;
}

const CHECK_MILLISECONDS = 250;

/**
 * Bounds the memory that unauthenticated callers can occupy: the gateway must read a signed body
 * completely before it can verify the signature. It cannot reject unknown clients earlier, because
 * that would reveal which clients exist (SG-36). Slow senders occupy memory longest, so the slowest
 * body is evicted first, and every body must arrive at a minimum rate (CWE-400).
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
      timer ??= setInterval(rejectSlow, CHECK_MILLISECONDS).unref();
    }

    grow(bytes: number): void {
      const extension = (1000 * bytes) / bytesPerSecond;
      const most = performance.now() + patienceMilliseconds;
      this.patienceUntil = Math.min(most, this.patienceUntil + extension);
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
