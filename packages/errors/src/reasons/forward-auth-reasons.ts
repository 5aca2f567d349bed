import type { FailureReason } from './failure-reason.ts';

const unclear = { codes: ['illegal_argument'], stage: 'read' } as const;

/** Reasons of `/_verify`, in addition to those of every request (docs/forward-auth.md). */
export const forwardAuthReasons = {
  verification_peer_untrusted: {
    codes: ['access_denied'],
    stage: 'read',
    cause: 'A verification was asked for from an address that is not in TRUSTED_PROXIES.',
    fix: 'Add the address of the proxy to TRUSTED_PROXIES. If the peer is not your proxy, close the port to it.',
    example: 'GET /_verify from a machine without a proxy',
  },
  verification_with_body: {
    ...unclear,
    cause: 'The proxy sent a body to /_verify.',
    fix: 'Send no body and no Content-Length. nginx: `proxy_pass_request_body off` and an empty Content-Length.',
    example: 'an auth_request that passes on the Content-Length of the caller',
  },
  verification_query_invalid: {
    ...unclear,
    cause: 'The query of /_verify has an unknown, repeated or invalid parameter.',
    fix: 'Use `scope`, and `audience` if you need it, each once. Without a query, the route table decides.',
    example: '/_verify?scopes=device:read',
  },
  original_request_missing: {
    ...unclear,
    cause: 'The proxy does not name both the method and the URI of the original request.',
    fix: 'Set X-Original-Method and X-Original-URI in the proxy, or X-Forwarded-Method and X-Forwarded-Uri.',
    example: 'X-Original-URI without X-Original-Method',
  },
  original_request_ambiguous: {
    ...unclear,
    cause: 'The original request is named twice, possibly by the caller.',
    fix: 'Let the proxy remove the pair of headers that it does not set, and set the other pair once.',
    example: 'X-Original-URI of a caller next to X-Forwarded-Uri of Traefik',
  },
  token_in_original_uri: {
    codes: ['unauthorized'],
    stage: 'authenticate',
    cause: 'The access token is in the URL, which the proxy would pass on to the service.',
    fix: 'Send the token as "Authorization: Bearer".',
    example: 'GET /reports?access_token=… behind nginx with auth_request',
  },
  signed_parameter_repeated: {
    codes: ['ambiguous_request'],
    stage: 'authenticate',
    cause:
      'A version 1 signature covers a repeated parameter, which the proxy forwards as it arrived.',
    fix: 'Sign with version 2, or send each parameter once.',
    example: 'GET /reports?id=1&id=2 with X-Sign, behind nginx with auth_request',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
