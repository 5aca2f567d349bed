import { ApiError, serviceUnavailable } from '@gatehouse/errors';

export interface BodyRoomLimits {
  readonly totalBytes: number;
  /** Per address group (an IPv6 /56 is one group). The only body of a group may be larger. */
  readonly addressBytes: number;
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
