import type { FailureReason } from './failure-reason.ts';

const token = { codes: ['unauthorized'], stage: 'authenticate' } as const;

/** Credentials other than signatures that the gateway rejects. */
export const credentialReasons = {
  credential_header_misnamed: {
    ...token,
    cause: 'The request has no credential, but a header whose name resembles one.',
    fix: 'Send the credential in Authorization, X-Access-Token, or the headers of a signature.',
    example: 'X-Auth-Token: kXhnR0b2vY6cM1pFz7',
  },
  several_credentials: {
    codes: ['multiple_credentials'],
    stage: 'authenticate',
    cause: 'The request has more than one credential.',
    fix: 'Send one credential only. Check whether a proxy or an HTTP library adds another one.',
    example: 'Authorization together with X-Access-Token',
  },
  bearer_scheme_wrong: {
    ...token,
    cause: 'Authorization uses another scheme than Bearer.',
    fix: 'Exchange client id and secure key for an access token at the token endpoint. Then send "Authorization: Bearer".',
    example: 'Authorization: Basic ZGVtbzp4',
  },
  bearer_scheme_missing: {
    ...token,
    cause: 'Authorization has a value without a scheme.',
    fix: 'Write Bearer and one space before the access token.',
    example: 'Authorization: kXhnR0b2vY6cM1pFz7',
  },
  bearer_token_missing: {
    ...token,
    cause: 'Authorization has no token.',
    fix: 'Send the access token after Bearer. Check that the variable with the token has a value.',
    example: 'Authorization: Bearer',
  },
  bearer_twice: {
    ...token,
    cause: 'Authorization has the scheme Bearer twice.',
    fix: 'Send Bearer once. Many HTTP libraries add it themselves.',
    example: 'Authorization: Bearer Bearer kXhnR0b2vY6cM1pFz7',
  },
  bearer_separator: {
    ...token,
    cause: 'Bearer and the token are not separated by exactly one space.',
    fix: 'Write Bearer, one space, and the access token.',
    example: 'Authorization: Bearer: kXhnR0b2vY6cM1pFz7',
  },
  x_access_token_missing: {
    ...token,
    cause: 'X-Access-Token is empty.',
    fix: 'Send the token. Check that the variable with the token has a value.',
    example: 'X-Access-Token:',
  },
  x_access_token_with_scheme: {
    ...token,
    cause: 'X-Access-Token begins with a scheme.',
    fix: 'Send only the token in X-Access-Token. Only Authorization has a scheme.',
    example: 'X-Access-Token: Bearer kXhnR0b2vY6cM1pFz7',
  },
  token_quoted: {
    ...token,
    cause: 'The token is in quotation marks.',
    fix: 'Send the token without quotation marks.',
    example: 'Authorization: Bearer "kXhnR0b2vY6cM1pFz7"',
  },
  token_placeholder: {
    ...token,
    cause: 'The token is a placeholder, or the text of a variable without a value.',
    fix: 'Send the access_token of a token reply, or the result of POST /api/v1/token.',
    example: 'Authorization: Bearer undefined',
  },
  token_malformed: {
    ...token,
    cause: 'The token contains a character that no token has, or is too long.',
    fix: 'Send the token exactly as the reply contains it, without line breaks or further text.',
    example: 'a token with a space in the middle',
  },
  access_token_is_jwt: {
    ...token,
    cause: 'The token is a JWT. Access tokens of Gatehouse are opaque.',
    fix: 'Send the access_token of the token reply. An id_token is only for the application.',
    example: 'an ID token, or a token of another issuer',
  },
  access_token_in_x_access_token: {
    ...token,
    cause: 'X-Access-Token contains an OAuth access token.',
    fix: 'Send this token as "Authorization: Bearer".',
    example: 'the access_token of POST /token in X-Access-Token',
  },
  x_access_token_in_authorization: {
    ...token,
    cause: 'The token is an X-Access-Token, but was sent as an OAuth access token.',
    fix: 'Send this token in the header X-Access-Token, without a scheme.',
    example: 'the result of POST /api/v1/token after Bearer',
  },
  token_in_query: {
    ...token,
    cause: 'The token is in the URL. The strict profile accepts tokens only in headers.',
    fix: 'Send the token as "Authorization: Bearer".',
    example: 'GET /api/device?access_token=… with SECURITY_PROFILE=strict',
  },
  token_revoked: {
    ...token,
    cause: 'The token is genuine, but was revoked before it expired.',
    fix: 'Get a new token. If that fails, the client or the user is disabled: ask the operator.',
    example: 'a token of a client after `gatehouse tokens revoke --client`',
  },
  token_unknown: {
    ...token,
    cause: 'The token has expired, was revoked, or was issued by another installation.',
    fix: 'Get a new token. If a new token fails too, make sure that the token endpoint and the gateway belong to the same installation.',
    example: 'a token of another installation',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
