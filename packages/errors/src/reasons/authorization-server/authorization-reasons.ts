import type { FailureReason } from '../failure-reason.ts';

/** Why an authorization request or a sign-out failed. */
export const authorizationReasons = {
  response_type_unsupported: {
    codes: ['unsupported_response_type'],
    stage: 'validate',
    cause: 'The server does not support the response type.',
    fix: 'Use response_type=code.',
    example: 'response_type=code id_token',
  },
  response_mode_unsupported: {
    codes: ['unsupported_response_mode', 'invalid_request'],
    stage: 'validate',
    cause: 'The response mode is unknown, or it may not be used with this response type.',
    fix: 'Omit response_mode.',
    example: 'response_mode=query with response_type=token',
  },
  redirect_uri_unregistered: {
    codes: ['invalid_redirect_uri', 'invalid_request'],
    stage: 'validate',
    cause:
      'The client has no registered redirect URI, or none on which the comparison could be based.',
    fix: 'Register the redirect URI of the application.',
    example: 'a machine client at the authorization endpoint',
  },
  pushed_request_unknown: {
    codes: ['invalid_request_uri'],
    stage: 'validate',
    cause: 'The pushed request is unknown, was used, or is older than 60 seconds.',
    fix: 'Push the request again, and redirect the browser at once.',
    example: 'a bookmark of an authorization address',
  },
  request_object_unsupported: {
    codes: ['request_not_supported', 'request_uri_not_supported', 'registration_not_supported'],
    stage: 'validate',
    cause: 'The parameter request, request_uri or registration is not supported.',
    fix: 'Send plain parameters, or push the request.',
    example: 'request_uri=https://app.example.com/request.jwt',
  },
  pkce_required: {
    codes: ['invalid_request'],
    stage: 'validate',
    cause:
      'The request has no code_challenge, which public clients need, and all clients in the strict profile.',
    fix: 'Send code_challenge and code_challenge_method=S256.',
    example: 'a browser application without PKCE',
  },
  pkce_method_wrong: {
    codes: ['invalid_request'],
    stage: 'validate',
    cause: 'The code_challenge_method is missing or is not S256, or there is no code_challenge.',
    fix: 'Send code_challenge and code_challenge_method=S256.',
    example: 'code_challenge_method=plain',
  },
  openid_scope_missing: {
    codes: ['invalid_request'],
    stage: 'validate',
    cause: 'The request needs the scope openid, for example for an ID token or for claims.',
    fix: 'Add openid to scope.',
    example: 'response_type=id_token with scope=profile',
  },
  claims_parameter_invalid: {
    codes: ['invalid_request'],
    stage: 'validate',
    cause: 'The parameter claims is not the JSON that OpenID Connect Core section 5.5 defines.',
    fix: 'Send a JSON object with the members userinfo or id_token.',
    example: 'claims=[]',
  },
  acr_unavailable: {
    codes: ['unmet_authentication_requirements'],
    stage: 'authorize',
    cause: 'The parameter claims requests an acr as essential. Gatehouse supports none.',
    fix: 'Request acr without essential.',
    example: 'claims with an essential acr',
  },
  id_token_hint_invalid: {
    codes: ['invalid_request', 'invalid_client'],
    stage: 'validate',
    cause: 'The id_token_hint is not an ID token that this server issued to the client.',
    fix: 'Send the ID token of the last sign-in, or omit the parameter.',
    example: 'an ID token of another system',
  },
  post_logout_uri_unregistered: {
    codes: ['invalid_request'],
    stage: 'validate',
    cause: 'The post_logout_redirect_uri does not equal a registered one.',
    fix: 'Register it, or send a registered one.',
    example: '/signed-out/ instead of /signed-out',
  },
  login_required: {
    codes: ['login_required'],
    stage: 'authorize',
    cause: 'The request has prompt=none, but the user has to sign in first.',
    fix: 'Send the request without prompt=none.',
    example: 'a silent renewal after the session ended',
  },
  consent_required: {
    codes: ['consent_required', 'interaction_required'],
    stage: 'authorize',
    cause: 'The request has prompt=none, but the user has to consent first.',
    fix: 'Send the request without prompt=none.',
    example: 'the first sign-in to an application with prompt=none',
  },
  user_denied: {
    codes: ['access_denied'],
    stage: 'authorize',
    cause: 'The user denied the request.',
    fix: 'Do not ask again without an action of the user.',
    example: 'the button Deny on the consent page',
  },
  authorization_rejected: {
    codes: ['access_denied'],
    stage: 'authorize',
    cause: 'The authorization ended without a user or without a scope.',
    fix: 'Send the request again.',
    example: 'a sign-in that was interrupted',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
