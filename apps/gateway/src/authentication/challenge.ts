import { sent } from '../http/header-names.ts';

type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

/**
 * The `WWW-Authenticate` header (RFC 6750 §3). It has no `error` if the request had no bearer
 * credential: such a caller learns only how to authenticate.
 */
export function bearerChallenge(error?: BearerError, scope?: string): Record<string, string> {
  const parameters = [
    'realm="gatehouse"',
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scope === undefined ? [] : [`scope="${scope}"`]),
  ];
  return { [sent.challenge]: `Bearer ${parameters.join(', ')}` };
}
