import type { Redis } from 'ioredis';
import { lifetimeMilliseconds } from '../port/limits.ts';
import type { WriteOptions } from '../port/store.ts';
import { sendScript } from './confirmed-writes/confirmed-scripts.ts';

type SetWords = readonly [value: string, ...(string | number)[]];

/** The words of SET for a lifetime. Without one, the value stays until it is deleted. */
export type ExpiryWords = readonly [] | readonly ['PX', milliseconds: number];

export function expiryWords(ttlSeconds: number | undefined): ExpiryWords {
  return ttlSeconds === undefined ? [] : ['PX', lifetimeMilliseconds(ttlSeconds)];
}

/** Sends SET, for a revocation in a script that a full Redis accepts. */
export function sendSet(
  client: Redis,
  key: string,
  words: SetWords,
  { revokes = false }: WriteOptions,
): Promise<unknown> {
  return revokes
    ? sendScript(client, 'setAlways', [key], words)
    : client.call('set', key, ...words);
}
