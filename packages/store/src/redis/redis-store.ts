import {
  type AppendOptions,
  assertAmount,
  assertEpochMilliseconds,
  assertPositiveInteger,
  type Counter,
  lifetimeMilliseconds,
  type Store,
  type StoreRoom,
  type WriteOptions,
} from '../store.ts';
import type { RedisLocation } from '../store-url.ts';
import type { EngineSignals } from '../store-watch.ts';
import { ConfirmedWrites } from './confirmed-writes.ts';
import { RedisClaims } from './redis-claims.ts';
import { keyOfEveryShard, type RedisClient } from './redis-client.ts';
import { RedisConnection } from './redis-connection.ts';
import {
  expiryWords,
  optionalText,
  sendScript,
  sendSet,
  texts,
  unexpectedReply,
} from './redis-scripts.ts';
import { readRoom } from './redis-servers.ts';

export interface RedisStoreDependencies {
  readonly signals: EngineSignals;
  /** Receives warnings that an operator should check. */
  readonly warn: (message: string) => void;
  readonly now: () => number;
}

/** The key of a ping expires soon after the last process ends. */
const PING_MILLISECONDS = 60_000;

/**
 * The engine for several machines. This function does not wait for Redis (see `RedisConnection`).
 */
export function createRedisStore(
  location: RedisLocation,
  dependencies: RedisStoreDependencies,
): Store {
  return new RedisStore(location, dependencies);
}

class RedisStore implements Store {
  readonly #connection: RedisConnection;
  readonly #writes: ConfirmedWrites;
  readonly #claims: RedisClaims;
  readonly #now: () => number;

  constructor(location: RedisLocation, { signals, warn, now }: RedisStoreDependencies) {
    this.#connection = new RedisConnection(location, signals, warn);
    this.#writes = new ConfirmedWrites(location, signals, warn);
    this.#claims = new RedisClaims(this.#writes, location.engine === 'redis-cluster');
    this.#now = now;
  }

  get(key: string): Promise<string | undefined> {
    return this.#send('get', async (client) => optionalText(await client.get(key)));
  }

  async set(
    key: string,
    value: string,
    ttlSeconds?: number,
    options: WriteOptions = {},
  ): Promise<void> {
    const words = [value, ...expiryWords(ttlSeconds)] as const;
    await this.#writes.send('set', key, (client) => sendSet(client, key, words, options));
  }

  async claim(
    key: string,
    owner: string,
    ttlSeconds?: number,
    options: WriteOptions = {},
  ): Promise<string> {
    const claim = { key, owner, expiry: expiryWords(ttlSeconds) };
    return (await this.#claims.add(claim, options)) ?? owner;
  }

  async replace(key: string, expected: string, value: string): Promise<boolean> {
    const reply = await this.#writes.send('replace', key, (client) =>
      sendScript(client, 'replace', [key], [expected, value]),
    );
    return reply === 1;
  }

  async delete(keys: readonly string[]): Promise<void> {
    await Promise.all(
      keys.map((key) => this.#writes.send('delete', key, (client) => client.unlink(key))),
    );
  }

  async increment(key: string, windowSeconds: number, amount = 1): Promise<Counter> {
    const window = lifetimeMilliseconds(windowSeconds);
    assertAmount(amount);
    return this.#send('increment', async (client) =>
      this.#counterOf(await client.incrementInWindow(key, window, amount)),
    );
  }

  async decrement(key: string): Promise<void> {
    await this.#send('decrement', (client) => client.decrementToZero(key));
  }

  async addToIndex(key: string, member: string, expiresAt: number): Promise<void> {
    assertEpochMilliseconds(expiresAt);
    await this.#writes.send('addToIndex', key, (client) =>
      sendScript(client, 'addIndexMember', [key], [member, expiresAt, this.#now()]),
    );
  }

  async removeFromIndex(key: string, member: string): Promise<void> {
    await this.#writes.send('removeFromIndex', key, (client) => client.zrem(key, member));
  }

  members(key: string): Promise<readonly string[]> {
    return this.#send('members', async (client) =>
      texts(await client.zrangebyscore(key, `(${this.#now()}`, '+inf')),
    );
  }

  async append(
    key: string,
    entries: readonly string[],
    capacity: number,
    { replaces = '', maximumAgeSeconds, revokes = false }: AppendOptions = {},
  ): Promise<void> {
    assertPositiveInteger('A capacity', capacity);
    const age = maximumAgeSeconds === undefined ? 0 : lifetimeMilliseconds(maximumAgeSeconds);
    const words = [capacity, this.#now(), age, replaces, ...entries];
    await this.#send('append', (client) =>
      revokes ? client.appendToLogAlways(key, ...words) : client.appendToLog(key, ...words),
    );
  }

  async read(key: string, limit: number): Promise<readonly string[]> {
    assertPositiveInteger('A limit', limit);
    return this.#send('read', async (client) =>
      texts(await client.zrange(key, 0, String(limit - 1), 'REV')),
    );
  }

  async ping(): Promise<StoreRoom> {
    const examined = this.#send('ping', async (client) => {
      const [room] = await Promise.all([
        readRoom(client),
        ...keyOfEveryShard(client).map((key) => writeAndRead(client, key)),
      ]);
      return room;
    });
    const [room] = await Promise.all([examined, this.#writes.ping()]);
    return room;
  }

  async close(): Promise<void> {
    this.#claims.flush();
    await Promise.all([this.#connection.close(), this.#writes.close()]);
  }

  #send<Reply>(
    operation: string,
    command: (client: RedisClient) => Promise<Reply>,
  ): Promise<Reply> {
    return this.#connection.send(operation, command);
  }

  #counterOf(reply: unknown): Counter {
    const [count, remaining] = Array.isArray(reply) ? reply.map(Number) : [];
    if (!(Number.isInteger(count) && Number.isInteger(remaining))) {
      throw unexpectedReply();
    }
    return { count: Number(count), resetsAt: this.#now() + Math.max(Number(remaining), 0) };
  }
}

/** Uses an ordinary write, which a full Redis rejects. */
async function writeAndRead(client: RedisClient, key: string): Promise<void> {
  await client.set(key, '', 'PX', PING_MILLISECONDS);
  if ((await client.get(key)) !== '') {
    throw new Error('Redis did not return the value that was written.');
  }
}
