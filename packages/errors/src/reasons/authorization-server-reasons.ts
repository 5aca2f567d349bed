import { authorizationReasons } from './authorization-server/authorization-reasons.ts';
import { clientAuthenticationReasons } from './authorization-server/client-authentication-reasons.ts';
import { codeReasons } from './authorization-server/code-reasons.ts';
import { oauthRequestReasons } from './authorization-server/oauth-request-reasons.ts';
import { pageReasons } from './authorization-server/page-reasons.ts';
import { signInReasons } from './authorization-server/sign-in-reasons.ts';
import { tokenReasons } from './authorization-server/token-reasons.ts';

/** Reasons of the authorization server. */
export const authorizationServerReasons = {
  ...oauthRequestReasons,
  ...clientAuthenticationReasons,
  ...codeReasons,
  ...tokenReasons,
  ...authorizationReasons,
  ...signInReasons,
  ...pageReasons,
} as const;
