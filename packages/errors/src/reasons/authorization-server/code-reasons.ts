import type { FailureReason } from '../failure-reason.ts';

/** Why a code gave no tokens. Authenticated clients read these texts in the reply. */
export const codeReasons = {
  code_unknown: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause:
      'The code is unknown, has expired, or was deleted after a second use. A code is valid for 10 minutes (1 minute in the strict profile).',
    fix: 'Exchange each code once, immediately after the redirect. If this code fails, start the sign-in again.',
    example: 'a code that is exchanged eleven minutes after the redirect',
  },
  code_used: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause: 'The code was already used, so all tokens of its sign-in were revoked.',
    fix: 'Redeem each code once, and do not repeat the request after a success. Start the sign-in again.',
    example: 'a callback page that was reloaded',
  },
  code_of_another_client: {
    codes: ['invalid_grant'],
    stage: 'authorize',
    cause: 'The code was issued to another client.',
    fix: 'Redeem the code with the client_id of the authorization request.',
    example: 'an application with one client id in the browser and another in the backend',
  },
  code_attempts_exhausted: {
    codes: ['invalid_grant'],
    stage: 'limit',
    cause: 'The code was presented too often without success.',
    fix: 'Start the sign-in again. Find the check that fails first: the reason of the earlier requests names it.',
    example: 'six attempts with a wrong code_verifier',
  },
  code_revoked: {
    codes: ['invalid_grant'],
    stage: 'authorize',
    cause: 'The code was revoked with its user, its client or the secure key.',
    fix: 'Start the sign-in again.',
    example: 'an operator disabled the user during the sign-in',
  },
  code_lost_race: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause: 'Another request redeemed the code at the same moment.',
    fix: 'Send one token request for each code.',
    example: 'two tabs or two threads that handle the same callback',
  },
  code_verifier_missing: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause:
      'The authorization request had a code_challenge, but the token request has no code_verifier.',
    fix: 'Send the code_verifier that belongs to the code_challenge.',
    example: 'an application that lost the verifier in the redirect',
  },
  code_verifier_unexpected: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause:
      'The token request has a code_verifier, but the authorization request had no code_challenge.',
    fix: 'Send code_challenge with code_challenge_method=S256 to the authorization endpoint.',
    example: 'PKCE in the backend only',
  },
  code_verifier_wrong: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause: 'The code_verifier does not match the code_challenge of the authorization request.',
    fix: 'Send the verifier of this sign-in. The challenge is the Base64url of its SHA-256, without padding.',
    example: 'the verifier of another browser tab',
  },
  code_verifier_malformed: {
    codes: ['invalid_request'],
    stage: 'validate',
    cause:
      'The code_verifier is shorter than 43 characters, longer than 128, or has a character that is not allowed.',
    fix: 'Generate 43 to 128 characters of A-Z, a-z, 0-9, hyphen, period, underscore and tilde.',
    example: 'a verifier of 32 characters',
  },
  redirect_uri_differs: {
    codes: ['invalid_grant', 'invalid_redirect_uri', 'invalid_request'],
    stage: 'validate',
    cause: 'The redirect_uri differs in more than one part.',
    fix: 'The token endpoint needs the redirect_uri of the authorization request, and the authorization endpoint a registered one.',
    example: 'https://app.example.com/cb instead of http://localhost:8080/callback',
  },
  redirect_uri_other_scheme: {
    codes: ['invalid_grant', 'invalid_redirect_uri', 'invalid_request'],
    stage: 'validate',
    cause: 'The scheme of redirect_uri differs from the expected one.',
    fix: 'To the authorization endpoint, send exactly a registered redirect_uri. To the token endpoint, send the redirect_uri of the authorization request. A proxy in front of an application often changes https to http.',
    example: 'http://app.example.com/callback instead of https',
  },
  redirect_uri_other_host: {
    codes: ['invalid_grant', 'invalid_redirect_uri', 'invalid_request'],
    stage: 'validate',
    cause: 'The host of redirect_uri differs from the expected one.',
    fix: 'To the authorization endpoint, send exactly a registered redirect_uri. To the token endpoint, send the redirect_uri of the authorization request. The hosts localhost and 127.0.0.1 are different.',
    example: 'www.example.com instead of example.com',
  },
  redirect_uri_other_port: {
    codes: ['invalid_grant', 'invalid_redirect_uri', 'invalid_request'],
    stage: 'validate',
    cause: 'The port of redirect_uri differs from the expected one.',
    fix: 'To the authorization endpoint, send exactly a registered redirect_uri. To the token endpoint, send the redirect_uri of the authorization request.',
    example: 'http://localhost:3000 instead of http://localhost:8080',
  },
  redirect_uri_other_path: {
    codes: ['invalid_grant', 'invalid_redirect_uri', 'invalid_request'],
    stage: 'validate',
    cause: 'The path of redirect_uri differs from the expected one.',
    fix: 'To the authorization endpoint, send exactly a registered redirect_uri. To the token endpoint, send the redirect_uri of the authorization request.',
    example: '/callback instead of /oauth/callback',
  },
  redirect_uri_other_query: {
    codes: ['invalid_grant', 'invalid_redirect_uri', 'invalid_request'],
    stage: 'validate',
    cause: 'The query or fragment of redirect_uri differs from the expected one.',
    fix: 'To the authorization endpoint, send exactly a registered redirect_uri. To the token endpoint, send the redirect_uri of the authorization request. Put data of the application into state.',
    example: '/callback?tenant=1 instead of /callback',
  },
  redirect_uri_trailing_slash: {
    codes: ['invalid_grant', 'invalid_redirect_uri', 'invalid_request'],
    stage: 'validate',
    cause: 'The redirect_uri differs only in a slash at the end of the path.',
    fix: 'To the authorization endpoint, send exactly a registered redirect_uri. To the token endpoint, send the redirect_uri of the authorization request.',
    example: '/callback/ instead of /callback',
  },
  redirect_uri_letter_case: {
    codes: ['invalid_grant', 'invalid_redirect_uri', 'invalid_request'],
    stage: 'validate',
    cause: 'The redirect_uri differs only in letter case.',
    fix: 'To the authorization endpoint, send exactly a registered redirect_uri. To the token endpoint, send the redirect_uri of the authorization request.',
    example: '/Callback instead of /callback',
  },
  redirect_uri_encoding: {
    codes: ['invalid_grant', 'invalid_redirect_uri', 'invalid_request'],
    stage: 'validate',
    cause: 'The redirect_uri means the same address but is written differently.',
    fix: 'Send exactly the characters of the authorization request, which must be those of a registered one. Percent-encode the whole value once.',
    example: 'https://app.example.com:443/callback instead of https://app.example.com/callback',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
