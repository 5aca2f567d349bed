import { ApiError } from '@gatehouse/errors';
import { parseRequestTarget, type RequestTarget, splitQueryToken } from '@gatehouse/signing';
import { UsageError } from '../command-line/command.ts';

export interface RequestUrl {
  /** `https://host:port`. Undefined if only a path was entered. */
  readonly origin: string | undefined;
  /** Path and query as entered. A parser would change escapes, and with them the signature. */
  readonly target: string;
  readonly parsed: RequestTarget;
}

/** @throws UsageError if the gateway would reject the URL */
export function readUrl(entered: string): RequestUrl {
  const [, origin, rest = ''] = /^(https?:\/\/[^/?#]+)(.*)$/i.exec(entered) ?? [];
  if (origin === undefined && !entered.startsWith('/')) {
    throw new UsageError('The URL must begin with http://, https:// or /.');
  }
  const sent = origin === undefined ? entered : rest;
  const target = sent.startsWith('/') ? sent : `/${sent}`;
  try {
    const parsed = parseRequestTarget(target);
    if (splitQueryToken(parsed.query).token !== undefined) {
      throw new UsageError('Remove access_token from the URL. It would be a second credential.');
    }
    return { origin, target, parsed };
  } catch (error) {
    if (error instanceof ApiError) {
      const hint =
        'Encode a character outside ASCII as its UTF-8 bytes, for example 张 as %E5%BC%A0.';
      throw new UsageError('The gateway rejects this URL:', [error.message, hint]);
    }
    throw error;
  }
}
