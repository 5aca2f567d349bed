import { ReplyError } from 'ioredis';
import { EvictingRedis } from './redis-eviction.ts';

/**
 * Why Redis cannot be used, in a sentence an operator can act on: the first word of its error reply, or the code of
 * the system's error. Never the error's message: that may quote arguments, which are tokens and passwords.
 *
 * @returns undefined where the error has neither
 */
export function outageReason(error: unknown): string | undefined {
  if (error instanceof EvictingRedis) {
    return error.message;
  }
  if (error instanceof ReplyError) {
    const word = /^[A-Z]{2,20}(?= |$)/.exec(String((error as Error).message))?.[0];
    return word === undefined ? undefined : `Redis replies ${word}.`;
  }
  // A cluster says which error its last node gave.
  const { code, lastNodeError } = Object(error) as { code?: unknown; lastNodeError?: unknown };
  if (lastNodeError !== undefined && lastNodeError !== null) {
    return outageReason(lastNodeError);
  }
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)
    ? `The connection fails with ${code}.`
    : undefined;
}
