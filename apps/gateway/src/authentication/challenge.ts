type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

/**
 * The `WWW-Authenticate` of a refusal (RFC 6750 §3): without `error` when no bearer credential was sent, so
 * that a stranger learns nothing but how to authenticate.
 */
export function bearerChallenge(error?: BearerError, scope?: string): Record<string, string> {
  const parameters = [
    'realm="gatehouse"',
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scope === undefined ? [] : [`scope="${scope}"`]),
  ];
  return { 'WWW-Authenticate': `Bearer ${parameters.join(', ')}` };
}
