/**
 * The one table from the messages of oidc-provider, and of Gatehouse's own errors that pass through
 * it, to failure reasons. An error matches by `error_detail` or by its description.
 * library-messages.test.ts compares the table with the installed library, so that an upgrade
 * reports a message that changed.
 */
import type { FailureReasonName } from '@gatehouse/errors';
import type { KoaContextWithOIDC } from 'oidc-provider';
import {
  clientNotFound,
  lostRace,
  mismatchOfClient,
  mismatchOfRegistration,
  mismatchOfSecret,
  presentedByOther,
  redirectUriOfCode,
  unknownCredential,
} from './reasons-of-requests.ts';

/**
 * The reason, or how to find it in the request. Undefined keeps the reason that was noted before.
 */
export type MessageReason =
  | FailureReasonName
  | ((context: KoaContextWithOIDC) => FailureReasonName | undefined);

export const libraryMessages: Readonly<Record<string, MessageReason>> = {
  // Client authentication
  'no client authentication mechanism provided': ({ oidc }) =>
    oidc.body?.client_assertion === undefined
      ? 'client_authentication_missing'
      : 'client_assertion_unsupported',
  'client authentication must only be provided using one mechanism': 'client_authenticated_twice',
  'client_id mismatch': 'client_id_differs',
  'client not found': clientNotFound,
  'invalid secret provided': 'client_secret_wrong',
  'the provided authentication mechanism does not match the registered client authentication method':
    mismatchOfSecret,
  'invalid authorization header value format': (context) =>
    context.oidc.route === 'userinfo' ? 'access_token_twice' : 'basic_not_base64',
  'client_id and client_secret in the authorization header are not properly encoded':
    'basic_not_form_encoded',
  'client_secret must be provided in the Authorization header': 'basic_half_empty',
  'introspection needs client authentication': 'client_secret_needed',
  'this grant_type needs client authentication': 'client_secret_needed',

  // Permissions of the client
  'this client may not use the grant_type': 'grant_type_not_registered',
  'requested grant type is not allowed for this client': 'grant_type_not_registered',
  'this client may not use the response_type': 'response_type_not_registered',
  'requested response_type is not allowed for this client': 'response_type_not_registered',
  'this token belongs to another client': 'token_of_another_client',

  // Codes and tokens
  'authorization code not found': unknownCredential,
  'refresh token not found': unknownCredential,
  'device code not found': unknownCredential,
  'client mismatch': mismatchOfClient,
  'authorization code is expired': 'code_unknown',
  'refresh token is expired': 'refresh_token_expired',
  'device code is expired': 'device_code_expired',
  'authorization code presented too often': presentedByOther('code_attempts_exhausted'),
  'authorization code already consumed': 'code_used',
  'refresh token already used': 'refresh_token_used',
  'device code already consumed': 'device_code_used',
  'already used': lostRace,
  'another browser was faster': 'device_code_lost_race',
  'grant not found': 'grant_revoked',
  'grant is expired': 'grant_revoked',
  'the grant was revoked': 'grant_revoked',
  'accountId mismatch': 'grant_revoked',
  'authorization code invalid (referenced account not found)': 'grant_user_ended',
  'refresh token invalid (referenced account not found)': 'grant_user_ended',
  'device code invalid (referenced account not found)': 'grant_user_ended',
  'code_verifier must be provided': 'code_verifier_missing',
  'unsupported code_challenge_method': 'code_verifier_unexpected',
  'code_verifier does not match code_challenge': 'code_verifier_wrong',
  'authorization code redirect_uri mismatch': redirectUriOfCode,
  // throttle/sign-in-throttle.ts has noted why.
  'the username or password is wrong': () => undefined,
  'access token not found': 'access_token_invalid',
  'associated client not found': 'access_token_invalid',
  'associated account not found': 'grant_user_ended',
  'access token must only be provided using one mechanism': 'access_token_twice',
  'access tokens must not be provided via query parameter': 'access_token_twice',
  'authorization header scheme must be `Bearer`': 'authorization_scheme_wrong',
  'no access token provided': 'access_token_missing',

  // Authorization requests and sign-outs
  "redirect_uri did not match any of the client's registered redirect_uris": mismatchOfRegistration,
  'request_uri was already used': 'pushed_request_unknown',
  'code_challenge_method must be provided': 'pkce_method_wrong',
  'not supported value of code_challenge_method': 'pkce_method_wrong',
  'code_challenge must be provided with code_challenge_method': 'pkce_method_wrong',
  'Authorization Server policy requires PKCE to be used for this request': 'pkce_required',
  'requested response_mode is not allowed for this client or request': 'response_mode_unsupported',
  'could not parse the claims parameter JSON': 'claims_parameter_invalid',
  'could not validate id_token_hint': 'id_token_hint_invalid',
  'could not decode id_token_hint': 'id_token_hint_invalid',
  'client_id does not match the provided id_token_hint': 'id_token_hint_invalid',
  'unrecognized id_token_hint audience': 'id_token_hint_invalid',
  'post_logout_redirect_uri not registered': 'post_logout_uri_unregistered',
  'authorization request resolved without requesting interactions but no account id was resolved':
    'authorization_rejected',
  'authorization request resolved without requesting interactions but no scope was granted':
    'authorization_rejected',

  // Scopes and bodies
  'scope contains invalid characters': 'scope_malformed',
  'this client is registered for no scope': 'scope_not_registered',
  'failed to parse the request body': 'oauth_body_unreadable',
  'The body is too large.': 'oauth_body_too_large',

  // Pages
  'xsrf token invalid': 'form_token_invalid',
  'could not find logout details': 'form_token_invalid',
  'could not find device form details': 'form_token_invalid',
  'authorization request has expired': 'sign_in_expired',
  'interaction session not found': 'sign_in_expired',
  'interaction session id cookie not found': 'sign_in_expired',
  'the interaction has expired': 'sign_in_expired',
  'the interaction was completed before': 'sign_in_expired',
  'session not found': 'sign_in_expired',
  'the session was ended': 'sign_in_expired',
  'another interaction': 'sign_in_of_another_browser',
  'authorization session and cookie identifier mismatch': 'sign_in_of_another_browser',
  'interaction session and authentication session mismatch': 'sign_in_of_another_browser',
  'session principal changed': 'sign_in_of_another_browser',
};

/** Messages that contain names or numbers. */
export const messagePatterns: readonly (readonly [RegExp, FailureReasonName])[] = [
  [/ is not allowed for this client$/, 'grant_type_not_registered'],
  [/^missing required parameter/, 'parameter_missing'],
  [/ must not be provided twice$/, 'parameter_repeated'],
  [/^code_verifier (?:must be a string|contains invalid)/, 'code_verifier_malformed'],
  [/^code_challenge (?:must be a string|contains invalid)/, 'pkce_method_wrong'],
  [/^only .* content-type bodies are supported/, 'oauth_body_type_wrong'],
  [/^The parameters are \d+ bytes long/, 'parameters_too_long'],
  [/^password is longer than/, 'password_too_long'],
  [/^refresh token missing requested scope/, 'scope_not_granted'],
  [/^openid scope must be requested/, 'openid_scope_missing'],
  [/^claims(?:\.\w+)? (?:parameter )?should/, 'claims_parameter_invalid'],
];
