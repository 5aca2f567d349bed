import { ReplyError } from 'ioredis';

/**
 * Redis may lose acknowledged writes: it evicts keys, cannot load its file, or its replicas did not
 * confirm a write. The message contains no secret.
 */
export class UnsafeRedisError extends Error {
  override readonly name = 'UnsafeRedisError';
}

/** What an operator can do about an error reply, by its first word. */
const adviceByWord: Readonly<Record<string, string>> = {
  OOM: 'It has reached its maxmemory: raise it, or find what fills the store.',
  MISCONF: 'It cannot persist its data: free disk space, or make its files writable.',
  READONLY: 'It is a replica: point STORE_URL at the master, or complete the failover.',
  NOREPLICAS: 'Too few replicas follow it: reconnect them.',
  CLUSTERDOWN: 'The cluster does not serve every slot: start the master that is missing.',
};

export const NO_REPLY = 'No connection or no reply in time.';
/** ioredis reports a timeout as a plain error, which only its message identifies. */
const timeout = /^(No connection or no reply in time|Socket timeout)/;

/**
 * The error replies to writes when Redis has no memory or disk space left. Reads are still current.
 */
const fullReplies: ReadonlySet<string | undefined> = new Set(['OOM', 'MISCONF']);

export function isFull(error: unknown): boolean {
  return fullReplies.has(replyWord(error));
}

/** The first word of an error reply. */
function replyWord(thrown: unknown): string | undefined {
  const error = nodeErrorOf(thrown);
  return error instanceof ReplyError
    ? /^[A-Z]{2,20}(?= |$)/.exec(String((error as Error).message))?.[0]
    : undefined;
}

/** In a cluster, the error of the last node. */
function nodeErrorOf(error: unknown): unknown {
  return (Object(error) as { lastNodeError?: unknown }).lastNodeError ?? error;
}

/**
 * Why Redis is unavailable, as a sentence that an operator can act on. It contains the first word
 * of an error reply or the code of a system error. It never contains the error's message, which may
 * quote arguments such as tokens and passwords.
 *
 * @returns undefined if the error has neither
 */
export function outageReason(thrown: unknown): string | undefined {
  const error = nodeErrorOf(thrown);
  if (error instanceof UnsafeRedisError) {
    return error.message;
  }
  const word = replyWord(error);
  if (word !== undefined) {
    const advice = adviceByWord[word];
    return `Redis replies ${word}.${advice === undefined ? '' : ` ${advice}`}`;
  }
  const { code, message } = Object(error) as Record<string, unknown>;
  if (typeof message === 'string' && timeout.test(message)) {
    return 'Redis does not reply in time. Check that it runs and that the network reaches it.';
  }
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)
    ? `The connection fails with ${code}.`
    : undefined;
}
