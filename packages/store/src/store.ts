import { randomBytes } from 'node:crypto';

/**
 * The port to the engine that stores short-lived data and identities.
 *
 * - Every operation uses one key, so that SQLite and every Redis topology can serve it.
 * - Every operation returns or throws `StoreUnavailableError` within 500 ms. While the engine is
 *   unavailable, nothing is queued or resent. Callers turn the error into 503.
 * - An acknowledged `set`, `claim`, `replace`, `delete`, `addToIndex` or `removeFromIndex` survives the loss
 *   of a server if the engine has replicas. Counters and logs may lose their last changes.
 * - An expired value is never returned. Lifetimes are in seconds and exact to one second.
 * - Keys and values are text. A key must not contain a readable secret: hash it first.
 * - A key has one kind: value or claim, counter, index, or log. To use it as two kinds is a
 *   programming error, which each engine handles differently. A lifetime or capacity that is not
 *   positive is a RangeError.
 */
export interface Store {
  /** The value, or undefined when there is none or it has expired. */
  get(key: string): Promise<string | undefined>;

  /** Writes or replaces. Without `ttlSeconds` the value stays until it is deleted. */
  set(key: string, value: string, ttlSeconds?: number, options?: WriteOptions): Promise<void>;

  /**
   * The first caller wins, and every caller gets the holder. Atomic, and idempotent by owner: a
   * holder that repeats its claim gets itself, so a retry after a lost reply is not a second use.
   * This does not extend the claim.
   *
   * @returns the holder: `owner` if this caller won
   */
  claim(key: string, owner: string, ttlSeconds?: number, options?: WriteOptions): Promise<string>;

  /**
   * Writes `value` if the key still has the value `expected`, in one step. Its lifetime stays.
   *
   * @returns whether the value was written. After a retry, false can also mean that it was
   */
  replace(key: string, expected: string, value: string): Promise<boolean>;

  /** Deletes values, claims, counters, indexes and logs alike. Unknown keys are no error. */
  delete(keys: readonly string[]): Promise<void>;

  /**
   * Adds one, or `amount`, atomically. The window starts with the first increment and does not
   * slide. An amount of 0 only reads, also from a full engine: without a window, the count is 0.
   */
  increment(key: string, windowSeconds: number, amount?: number): Promise<Counter>;

  /** Subtracts one, but not below zero. Does not open a window. */
  decrement(key: string): Promise<void>;

  /** Adds a member to a set that is ordered by expiry. Adding it again replaces its expiry. */
  addToIndex(key: string, member: string, expiresAt: number): Promise<void>;

  removeFromIndex(key: string, member: string): Promise<void>;

  /** The members that have not expired, earliest expiry first. Live members are never evicted. */
  members(key: string): Promise<readonly string[]>;

  /**
   * The first `limit` members after `after` that begin with `prefix`, in the order of their bytes in
   * UTF-8. Only for an index whose members never expire.
   */
  membersWithPrefix(
    key: string,
    prefix: string,
    limit: number,
    after?: string,
  ): Promise<readonly string[]>;

  /**
   * Appends entries, oldest first, in one step to a log that keeps the newest `capacity` entries. An
   * engine may keep up to 1 % more for each process that appends. A log contains an entry once:
   * appending an equal entry moves it.
   */
  append(
    key: string,
    entries: readonly string[],
    capacity: number,
    options?: AppendOptions,
  ): Promise<void>;

  /** The newest entries of a log, newest first. */
  read(key: string, limit: number): Promise<readonly string[]>;

  /**
   * Writes and reads on every shard of the engine.
   *
   * @returns the space of the fullest shard, and the servers that accept writes
   * @throws StoreFullError if the engine reads but rejects writes
   */
  ping(): Promise<StoreRoom>;

  close(): Promise<void>;
}

export interface WriteOptions {
  /**
   * The write is part of a revocation: a tombstone, a not-before time, a changed client or user,
   * the lock of that change, or its audit entry. A full engine accepts it, as it accepts every
   * `delete`.
   */
  readonly revokes?: boolean;
}

export interface StoreRoom {
  readonly usedBytes: number;
  /** Undefined if only the memory of the machine limits the engine. */
  readonly maximumBytes: number | undefined;
  /** Of an embedded engine, its library. */
  readonly servers: readonly {
    readonly version: string;
    /** Its clock, in epoch milliseconds. */
    readonly time: number;
  }[];
}

export interface AppendOptions extends WriteOptions {
  /**
   * The earlier version of the only entry, which is removed in the same step. Without an entry, it is
   * only removed.
   */
  readonly replaces?: string | undefined;
  /** Also removes entries that are at least this old. */
  readonly maximumAgeSeconds?: number | undefined;
}

export interface Counter {
  readonly count: number;
  /** Epoch milliseconds at which the window ends and the count starts again. */
  readonly resetsAt: number;
}

/** Expiry of an index member that stays until it is removed. */
export const NEVER_EXPIRES: number = Number.MAX_SAFE_INTEGER;

/**
 * The engine is unavailable, too slow, or rejects the operation. The request fails closed: 503,
 * never 401 or 2xx.
 */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError';
  /** The cause that the engine or the system reported, if any, in sentences without secrets. */
  readonly reason: string | undefined;

  constructor(operation: string, cause: unknown, reason?: string) {
    super(`The store is unavailable (${operation}).`, { cause });
    this.reason = reason;
  }
}

/**
 * The engine is full. It rejects writes, except for revocations and deletions. Reads are still
 * current. A caller that can proceed without the write, such as a rate limit, may do so.
 */
export class StoreFullError extends StoreUnavailableError {
  override readonly name = 'StoreFullError';
}

/** Of any number of callers with the same key, one gets true, until the claim expires. */
export async function claimOnce(
  store: Pick<Store, 'claim'>,
  key: string,
  ttlSeconds: number,
): Promise<boolean> {
  const owner = randomBytes(16).toString('base64url');
  return (await store.claim(key, owner, ttlSeconds)) === owner;
}

/** The deadline of an engine. The port guarantees 500 ms. The difference allows for late timers. */
export const OPERATION_DEADLINE_MILLISECONDS = 450;

const LONGEST_LIFETIME_SECONDS = 1e11;

/**
 * Converts a lifetime to milliseconds. It rejects a lifetime that is not positive instead of
 * rounding it: if a claim expired immediately, every caller would win.
 */
export function lifetimeMilliseconds(seconds: number): number {
  if (!(seconds > 0 && seconds <= LONGEST_LIFETIME_SECONDS)) {
    throw new RangeError(`A lifetime must be a positive number of seconds, not ${seconds}.`);
  }
  return Math.ceil(seconds * 1000);
}

/** Rejects an expiry that an engine would store as a different number. */
export function assertEpochMilliseconds(expiresAt: number): void {
  if (!Number.isSafeInteger(expiresAt)) {
    throw new RangeError(`An expiry must be whole epoch milliseconds, not ${expiresAt}.`);
  }
}

export function assertPositiveInteger(name: string, value: number): void {
  if (!(Number.isSafeInteger(value) && value > 0)) {
    throw new RangeError(`${name} must be a positive integer, not ${value}.`);
  }
}
