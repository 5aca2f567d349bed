/** The paths of the provider's endpoints. app.ts passes no other path to the provider. */
export const providerRoutes = {
  authorization: '/authorize',
  token: '/token',
  revocation: '/revoke',
  introspection: '/introspect',
  pushed_authorization_request: '/par',
  device_authorization: '/device/auth',
  code_verification: '/device',
  userinfo: '/userinfo',
  jwks: '/jwks',
  end_session: '/logout',
} as const;

/** The endpoints that clients call with their own credentials. */
export const clientEndpointPaths: readonly string[] = [
  providerRoutes.token,
  providerRoutes.revocation,
  providerRoutes.introspection,
  providerRoutes.pushed_authorization_request,
  providerRoutes.device_authorization,
];
