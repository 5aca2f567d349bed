import { reasons } from './failure-reason.ts';

/** Reasons of the gateway, in addition to error codes and wrong signatures. */
export const gatewayReasons = {
  ...reasons('read', ['illegal_argument'], {
    upgrade_not_accepted: {
      cause: 'The request asks for another protocol, and the route does not allow it.',
      fix: 'Omit the header Upgrade. To allow WebSockets, set `webSocket` for the route in ROUTES_FILE.',
    },
    input_not_accepted: {
      cause: 'The operation takes no body or no parameters, but the request has some.',
      fix: 'Omit the body and the query.',
    },
    verification_invalid: {
      cause:
        'The question of the proxy to /_verify is invalid: it has a body, an unknown parameter, or does not name the original request exactly once.',
      fix: 'Configure the proxy as docs/forward-auth.md shows: no body, X-Original-Method and X-Original-URI (or X-Forwarded-Method and X-Forwarded-Uri), and remove the other pair.',
    },
  }),
  ...reasons('read', ['access_denied'], {
    verification_peer_untrusted: {
      cause: 'A verification was asked for from an address that is not in TRUSTED_PROXIES.',
      fix: 'Add the address of the proxy to TRUSTED_PROXIES. If the peer is not your proxy, close the port to it.',
    },
  }),
  ...reasons('limit', ['too_many_requests'], {
    address_rate_limit: {
      cause: 'The address group sent too many requests without a valid credential.',
      fix: 'Correct the credential, and wait for the seconds in Retry-After. If all callers share one address, set TRUSTED_PROXIES.',
    },
    client_rate_limit: {
      cause: 'The client exceeded its rate limit.',
      fix: 'Send fewer requests, and wait for the seconds in Retry-After. Operators can raise CLIENT_RATE_LIMIT.',
    },
    operation_rate_limit: {
      cause: 'The client exceeded the rate limit of this operation.',
      fix: 'Send fewer requests to this operation. Operators can raise the limit of the route in ROUTES_FILE.',
    },
    stored_state_limit: {
      cause:
        'Used signatures, tokens or pushed requests of this client, user, organization or address take up too much of the store.',
      fix: 'Wait for the seconds in Retry-After. Use each token until it expires, and call with access tokens, which store nothing. Operators can raise maxmemory of Redis.',
    },
  }),
  ...reasons('authenticate', ['unauthorized', 'invalid_token', 'invalid_request'], {
    credential_header_misnamed: {
      cause: 'The request has no credential, but a header whose name resembles one.',
      fix: 'Send the credential in Authorization, X-Access-Token, or the headers of a signature.',
    },
    bearer_scheme_wrong: {
      cause: 'Authorization uses another scheme than Bearer.',
      fix: 'Exchange client id and secure key for an access token at the token endpoint. Then send "Authorization: Bearer".',
    },
    bearer_malformed: {
      cause: 'Authorization is not Bearer, one space and a token.',
      fix: 'Write Bearer, one space, and the access token. Many HTTP libraries add Bearer themselves.',
    },
    token_missing: {
      cause: 'The header has no token, a placeholder, or the text of a variable without a value.',
      fix: 'Check that the variable with the token has a value: the access_token of a token reply, or the result of POST /api/v1/token.',
    },
    token_malformed: {
      cause: 'The token contains a character that no token has, or is too long.',
      fix: 'Send the token exactly as the reply contains it, without quotation marks, line breaks or further text. X-Access-Token has no scheme.',
    },
    access_token_is_jwt: {
      cause: 'The token is a JWT, but no access token of this installation, or an expired one.',
      fix: 'Send the access_token of the token reply. An id_token is only for the application.',
    },
    token_in_wrong_header: {
      cause: 'The token belongs in another header.',
      fix: 'Send an OAuth access token as "Authorization: Bearer", and the result of POST /api/v1/token in X-Access-Token, without a scheme.',
    },
    token_for_other_resource: {
      cause: 'The token is for another API.',
      fix: 'Name this API in the parameter resource of the authorization and token request.',
    },
    token_in_query: {
      cause:
        'The token is in the URL, which reaches logs and services. The strict profile and proxies that ask /_verify accept tokens only in headers.',
      fix: 'Send the token as "Authorization: Bearer".',
    },
    token_revoked: {
      cause: 'The token is genuine, but was revoked before it expired.',
      fix: 'Get a new token. If that fails, the client or the user is disabled: ask the operator.',
    },
    token_expired: {
      cause: 'The token was valid, but has expired.',
      fix: 'Get a new token, with the refresh token if the client has one.',
    },
    token_unknown: {
      cause: 'The token has expired, was revoked, or was issued by another installation.',
      fix: 'Get a new token. If the token endpoint rejects the client, ask the operator whether it is disabled. If a new token fails too, make sure that the token endpoint and the gateway belong to the same installation.',
    },
  }),
  ...reasons('authenticate', ['unauthorized', 'access_denied', 'illegal_argument'], {
    browser_session_missing: {
      cause: 'The request has no credential and no session, and does not open a page.',
      fix: 'Open a page of the application in the browser to sign in. Scripts reload the page after 401.',
    },
    browser_request_foreign: {
      cause: 'Another site caused this change or WebSocket in a signed-in browser.',
      fix: 'Send it from a page of the application. The proxy must pass on Origin and Sec-Fetch-Site.',
    },
    browser_sign_in_invalid: {
      cause:
        'The sign-in began in another browser or more than an hour ago, its code is used or expired, or the browser keeps no cookies.',
      fix: 'Open the application again, and allow its cookies.',
    },
  }),
  ...reasons('authenticate', ['service_unavailable'], {
    signed_bodies_waiting: {
      cause: 'Too many signed bodies wait for verification. The gateway rejected the slowest.',
      fix: 'Send the body faster, and try again. Operators: look for callers that send large bodies slowly.',
    },
  }),
  ...reasons('authenticate', ['access_denied'], {
    address_not_allowed: {
      cause: 'The credential is valid, but the client may not be used from this address.',
      fix: 'Allow the address: `gatehouse clients change ID --ip-allow ADDRESS` replaces the whole list. If the address is that of a proxy, set TRUSTED_PROXIES.',
    },
  }),
  ...reasons('authenticate', ['ambiguous_request'], {
    signed_parameter_repeated: {
      cause:
        'A version 1 signature covers a repeated parameter, which a proxy that asks /_verify forwards as it arrived.',
      fix: 'Sign with version 2, or send each parameter once.',
    },
  }),
  ...reasons('authorize', ['unauthorized'], {
    credential_kind_not_accepted: {
      cause: 'The credential is valid, but the operation does not accept this kind.',
      fix: 'Use a kind of credential that the route accepts. docs/devices.md and docs/routes.md list them.',
    },
  }),
  ...reasons('authorize', ['unauthorized'], {
    user_authentication_insufficient: {
      cause:
        'The route has acr or maxAge, and the user of the token signed in with fewer factors or too long ago. Machines do not sign in.',
      fix: 'Send the user to the authorization endpoint with the acr_values and max_age of the challenge (RFC 9470), then call with the new token.',
    },
  }),
  ...reasons('authorize', ['access_denied'], {
    role_missing: {
      cause:
        'The operation is for users with a role that this user does not have. Machines have none.',
      fix: 'Give the user one of the roles that the finding names: gatehouse users change NAME --role ROLE replaces the whole list.',
    },
  }),
  ...reasons('forward', ['bad_gateway'], {
    upstream_unreachable: {
      cause: 'The gateway could not connect to the upstream service.',
      fix: 'Start the service. Check its URL in DEVICE_SERVICE_URL or ROUTES_FILE, and the network to it. With DEVICE_SERVICE_SOCKET, check that the user of the gateway has access to the socket.',
    },
    upstream_rejected_gateway: {
      cause: 'The upstream service rejected the internal token of the gateway.',
      fix: 'Compare the clocks of both hosts, and the GATEWAY_URL of both. Look for the request id in the log of the service.',
    },
    upstream_redirected: {
      cause:
        'The upstream service redirected to another origin, which the gateway does not pass on.',
      fix: 'Configure the service to redirect only to its own paths.',
    },
  }),
  ...reasons('forward', ['timeout', 'service_unavailable'], {
    upstream_stopped: {
      cause:
        'The upstream service has stopped answering. The gateway rejects requests for it until it answers again.',
      fix: 'Restart the service. The log line `upstream circuit open` has the time at which it stopped, and gatehouse_upstream_circuit_open shows its state.',
    },
    upstream_overloaded: {
      cause: 'Too many requests already wait for the upstream service.',
      fix: 'Wait for the seconds in Retry-After. Operators: find out why the service is slow, or add instances.',
    },
  }),
  ...reasons('forward', [], {
    upstream_refused: {
      cause: 'The upstream service replied with this error, and the gateway passed it on.',
      fix: 'Read the body of the reply, and look for the request id in the log of the service.',
    },
  }),
  ...reasons('reply', ['bad_gateway', 'service_unavailable'], {
    reply_too_large_to_sign: {
      cause: 'The reply of the upstream service exceeds the 8 MiB that the gateway signs.',
      fix: 'Request less, for example with pages. Replies to access tokens are not signed and have no limit.',
    },
    caller_too_slow: {
      cause:
        'The caller did not read its reply while other requests waited for a connection to the service.',
      fix: 'Read replies without pauses.',
    },
  }),
};
