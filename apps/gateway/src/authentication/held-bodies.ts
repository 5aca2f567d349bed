/**
 * Reads signed bodies, which the gateway must have in memory before it can verify them, and bounds
 * the memory that unauthenticated callers can occupy.
 */
import type { IncomingMessage } from 'node:http';
import { ApiError, serviceUnavailable } from '@gatehouse/errors';
import { addressGroup, hasBody, sendContinue } from '@gatehouse/server';
import { assertAnnouncedSize } from '../messages.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

export type HeldBodiesLimits = typeof HELD_BODIES;

/** `addressBytes`: per address group (an IPv6 /56). The only body of a group may be larger. */
type BodyRoomLimits = HeldBodiesLimits['small'];

export const HELD_BODIES = {
  /** The largest small body. Most bodies are small. */
  smallBodyBytes: 64 * KIBIBYTE,
  /** Reserved for small bodies. */
  small: { totalBytes: 32 * MEBIBYTE, addressBytes: 2 * MEBIBYTE },
  large: { totalBytes: 96 * MEBIBYTE, addressBytes: 4 * MEBIBYTE },
  /**
   * A body that stops is rejected after this time. Each byte that arrives extends the time again.
   */
  patienceMilliseconds: 10_000,
  bytesPerSecond: 16 * KIBIBYTE,
};

/** The body of one request until the gateway has verified it. */
export type HeldBody = ReturnType<ReturnType<typeof createHeldBodies>>;

const CHECK_MILLISECONDS = 250;

/**
 * Bounds the memory that unauthenticated callers can occupy: the gateway must read a signed body
 * completely before it can verify the signature. It cannot reject unknown clients earlier, because
 * that would reveal which clients exist. Slow senders occupy memory longest, so the slowest
 * body is evicted first, and every body must arrive at a minimum rate (CWE-400).
 */
export function createHeldBodies(limits: HeldBodiesLimits) {
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

  class ArrivingBody implements Occupant {
    readonly group: string;
    bytes = 0;
    patienceUntil = 0;
    #room = small;
    #refuse: (error: Error) => void = () => {};

    constructor(address: string) {
      this.group = addressGroup(address);
    }

    /** The body begins to arrive. `refuse` is called at most once, if it is evicted before its end. */
    begin(refuse: (error: Error) => void): void {
      this.#refuse = refuse;
      this.patienceUntil = performance.now() + patienceMilliseconds;
      arriving.add(this);
      timer ??= setInterval(rejectSlow, CHECK_MILLISECONDS).unref();
    }

    /**
     * @throws ApiError `payload_too_large` if the body can never fit, `service_unavailable` if it is
     *   the slowest
     */
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

    /** The body is complete. It cannot be evicted anymore. */
    complete(): void {
      this.patienceUntil = Number.POSITIVE_INFINITY;
      arriving.delete(this);
    }

    /** The body was verified or rejected, or its caller left. */
    release(): void {
      this.#room.leave(this);
      arriving.delete(this);
    }

    evict(error: Error): void {
      arriving.delete(this);
      this.#refuse(error);
    }
  }

  return (address: string) => new ArrivingBody(address);
}

/**
 * Reads the whole body. It counts each chunk, so that it never holds more than the limit.
 *
 * @throws ApiError `payload_too_large`, or an error of `held`
 */
export async function readSignedBody(
  request: IncomingMessage,
  limitBytes: number,
  held: HeldBody,
): Promise<Buffer> {
  assertAnnouncedSize(request, limitBytes);
  if (!hasBody(request)) {
    return Buffer.alloc(0);
  }
  sendContinue(request);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = (refusal: unknown) => {
      request.off('data', onData);
      request.pause();
      // Frees the memory now, not after the reply.
      chunks.length = 0;
      reject(refusal);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      try {
        if (size > limitBytes) {
          throw new ApiError('payload_too_large');
        }
        held.grow(chunk.length);
        chunks.push(chunk);
      } catch (refusal) {
        refuse(refusal);
      }
    };
    // The caller has left and reads no reply, but the promise must settle.
    const leave = () => reject(new ApiError('illegal_argument', { reason: 'body_incomplete' }));
    held.begin(refuse);
    request.on('data', onData);
    request.once('end', () => {
      request.off('close', leave);
      held.complete();
      resolve(Buffer.concat(chunks, size));
    });
    request.once('error', reject);
    request.once('close', leave);
  });
}

/** A body that occupies memory. */
export interface Occupant {
  readonly group: string;
  /** Set by BodyRoom. */
  bytes: number;
  /** Monotonic milliseconds. The lowest value marks the slowest body, Infinity a complete one. */
  readonly patienceUntil: number;
  /** Called when other bodies get its memory. */
  evict(error: Error): void;
}

interface Group {
  bytes: number;
  readonly bodies: Set<Occupant>;
}

/**
 * Memory for bodies. If it runs out, the slowest body of the address group, or of all, is evicted.
 */
export class BodyRoom {
  readonly #limits: BodyRoomLimits;
  readonly #groups = new Map<string, Group>();
  #total = 0;

  constructor(limits: BodyRoomLimits) {
    this.#limits = limits;
  }

  /**
   * @throws ApiError `payload_too_large` if the body can never fit, `service_unavailable` if it is
   *   the slowest
   */
  take(body: Occupant, bytes: number): void {
    const { totalBytes, addressBytes } = this.#limits;
    if (body.bytes + bytes > totalBytes) {
      throw new ApiError('payload_too_large');
    }
    const own = this.#groups.get(body.group);
    while (own !== undefined && own.bytes + bytes > addressBytes && own.bytes > body.bytes) {
      this.#evictSlowest([own], body);
    }
    while (this.#total + bytes > totalBytes) {
      this.#evictSlowest(this.#groups.values(), body);
    }
    const group = this.#groups.get(body.group) ?? { bytes: 0, bodies: new Set<Occupant>() };
    this.#groups.set(body.group, group);
    group.bodies.add(body);
    group.bytes += bytes;
    body.bytes += bytes;
    this.#total += bytes;
  }

  leave(body: Occupant): void {
    const group = this.#groups.get(body.group);
    if (group?.bodies.delete(body) !== true) {
      return;
    }
    group.bytes -= body.bytes;
    this.#total -= body.bytes;
    body.bytes = 0;
    if (group.bodies.size === 0) {
      this.#groups.delete(body.group);
    }
  }

  #evictSlowest(groups: Iterable<Group>, grower: Occupant): void {
    let slowest = grower;
    for (const { bodies } of groups) {
      for (const body of bodies) {
        slowest = body.patienceUntil < slowest.patienceUntil ? body : slowest;
      }
    }
    const error = serviceUnavailable(
      new Error('Too many signed bodies are waiting for verification.'),
      'signed_bodies_waiting',
    );
    if (slowest === grower) {
      throw error;
    }
    this.leave(slowest);
    slowest.evict(error);
  }
}
