import {
  assertEpochMilliseconds,
  assertPositiveInteger,
  lifetimeMilliseconds,
  type Store,
  type StoreRoom,
} from '../store.ts';
import type { RedisLocation } from '../store-url.ts';
import { ConfirmedWrites } from './confirmed-writes.ts';
import { createRedisClaims } from './redis-claims.ts';
import { keyOfEveryShard, type RedisClient } from './redis-client.ts';
import { RedisConnection, type RedisConnectionDependencies } from './redis-connection.ts';
import {
  expiryWords,
  optionalText,
  sendScript,
  sendSet,
  texts,
  unexpectedReply,
} from './redis-scripts.ts';
import { readRoom } from './redis-servers.ts';

/** The key of a ping expires soon after the last process ends. */
const PING_MILLISECONDS = 60_000;

/**
 * The engine for several machines. The constructor does not wait for Redis (see `RedisConnection`).
 */
export class RedisStore implements Store {
  readonly #connection: RedisConnection;
  readonly #writes: ConfirmedWrites;
  readonly #claims: ReturnType<typeof createRedisClaims>;
  readonly #now: () => number;

  constructor(
    location: RedisLocation,
    dependencies: RedisConnectionDependencies & { readonly now: () => number },
  ) {
    this.#connection = new RedisConnection(location, dependencies);
    this.#writes = new ConfirmedWrites(location, dependencies);
    this.#claims = createRedisClaims(this.#writes, location.engine === 'redis-cluster');
    this.#now = dependencies.now;
  }

  readonly get: Store['get'] = (key) =>
    this.#connection.send('get', async (client) => optionalText(await client.get(key)));

  readonly set: Store['set'] = async (key, value, ttlSeconds, options = {}) => {
    const words = [value, ...expiryWords(ttlSeconds)] as const;
    await this.#writes.send('set', key, (client) => sendSet(client, key, words, options));
  };

  readonly claim: Store['claim'] = async (key, owner, ttlSeconds, options = {}) => {
    const claim = { key, owner, expiry: expiryWords(ttlSeconds) };
    return (await this.#claims.add(claim, options)) ?? owner;
  };

  readonly replace: Store['replace'] = async (key, expected, value) => {
    const reply = await this.#writes.send('replace', key, (client) =>
      sendScript(client, 'replace', [key], [expected, value]),
    );
    return reply === 1;
  };

  readonly delete: Store['delete'] = async (keys) => {
    await Promise.all(
      keys.map((key) => this.#writes.send('delete', key, (client) => client.unlink(key))),
    );
  };

  readonly increment: Store['increment'] = async (key, windowSeconds, amount = 1) => {
    const window = lifetimeMilliseconds(windowSeconds);
    if (amount !== 0) {
      assertPositiveInteger('An amount', amount);
    }
    return this.#connection.send('increment', async (client) => {
      const reply = await sendScript(client, 'incrementInWindow', [key], [window, amount]);
      const [count, remaining] = Array.isArray(reply) ? reply.map(Number) : [];
      if (!(Number.isInteger(count) && Number.isInteger(remaining))) {
        throw unexpectedReply();
      }
      return { count: Number(count), resetsAt: this.#now() + Math.max(Number(remaining), 0) };
    });
  };

  readonly decrement: Store['decrement'] = async (key) => {
    await this.#connection.send('decrement', (client) =>
      sendScript(client, 'decrementToZero', [key]),
    );
  };

  readonly addToIndex: Store['addToIndex'] = async (key, member, expiresAt) => {
    assertEpochMilliseconds(expiresAt);
    await this.#writes.send('addToIndex', key, (client) =>
      sendScript(client, 'addIndexMember', [key], [member, expiresAt, this.#now()]),
    );
  };

  readonly removeFromIndex: Store['removeFromIndex'] = async (key, member) => {
    await this.#writes.send('removeFromIndex', key, (client) => client.zrem(key, member));
  };

  readonly members: Store['members'] = (key) =>
    this.#connection.send('members', async (client) =>
      texts(await client.zrangebyscore(key, `(${this.#now()}`, '+inf')),
    );

  readonly membersWithPrefix: Store['membersWithPrefix'] = async (key, prefix, limit, after) => {
    assertPositiveInteger('A limit', limit);
    // No text in UTF-8 contains the byte 0xff, so it follows everything that begins with the prefix.
    const end = Buffer.concat([Buffer.from(`(${prefix}`), Buffer.from([0xff])]);
    const isEarlier = Buffer.compare(Buffer.from(after ?? ''), Buffer.from(prefix)) < 0;
    const start = after === undefined || isEarlier ? `[${prefix}` : `(${after}`;
    return this.#connection.send('membersWithPrefix', async (client) =>
      texts(await client.zrange(key, start, end, 'BYLEX', 'LIMIT', 0, limit)),
    );
  };

  readonly append: Store['append'] = async (key, entries, capacity, options = {}) => {
    const { replaces = '', maximumAgeSeconds, revokes = false } = options;
    assertPositiveInteger('A capacity', capacity);
    const age = maximumAgeSeconds === undefined ? 0 : lifetimeMilliseconds(maximumAgeSeconds);
    const words = [capacity, this.#now(), age, replaces, ...entries];
    const script = revokes ? 'appendToLogAlways' : 'appendToLog';
    await this.#connection.send('append', (client) => sendScript(client, script, [key], words));
  };

  readonly read: Store['read'] = async (key, limit) => {
    assertPositiveInteger('A limit', limit);
    return this.#connection.send('read', async (client) =>
      texts(await client.zrange(key, 0, String(limit - 1), 'REV')),
    );
  };

  async ping(): Promise<StoreRoom> {
    const examined = this.#connection.send('ping', async (client) => {
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
}

/** Uses an ordinary write, which a full Redis rejects. */
async function writeAndRead(client: RedisClient, key: string): Promise<void> {
  await client.set(key, '', 'PX', PING_MILLISECONDS);
  if ((await client.get(key)) !== '') {
    throw new Error('Redis did not return the value that was written.');
  }
}
