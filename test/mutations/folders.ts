/** The mutated folders, and the tests of each. */
export interface MutatedFolder {
  /** Its files that are not tests are mutated. */
  readonly folder: string;
  /**
   * Test files that reach the folder through real processes, which an import graph cannot show.
   * They run in this order, after the tests that import the mutated file.
   */
  readonly tests: readonly string[];
}

const authorizationServer = (...names: readonly string[]) =>
  names.map((name) => `apps/authorization-server/test/${name}.test.ts`);
const gateway = (...names: readonly string[]) =>
  names.map((name) => `apps/gateway/test/${name}.test.ts`);

export const mutatedFolders: readonly MutatedFolder[] = [
  { folder: 'packages/request-signature/src', tests: [] },
  { folder: 'packages/identity/src', tests: [] },
  {
    folder: 'apps/authorization-server/src/grants',
    tests: authorizationServer(
      'token',
      'machine-tokens',
      'platform',
      'password',
      'refresh',
      'refresh-rotation',
      'expiry',
      'strict',
      'strict-profile',
      'store-faults',
    ),
  },
  {
    folder: 'apps/authorization-server/src/throttle',
    tests: authorizationServer(
      'sign-in-throttle',
      'sign-in-attempts',
      'client-limits',
      'user-codes',
      'platform',
      'password',
      'store-faults',
      'device-cookie',
      'stored-requests',
    ),
  },
  {
    folder: 'apps/authorization-server/src/provider',
    tests: authorizationServer(
      'oidc-adapter',
      'record-lifetimes',
      'sealed-records',
      'token',
      'refresh',
      'pkce',
      'refresh-rotation',
      'machine-tokens',
      'implicit',
      'authorize',
      'ended-sessions',
      'logout',
      'signing-key-rotation',
      'strict-profile',
      'pushed-requests',
      'production',
      'cookies',
      'client-endpoints',
      'device-sign-in',
      'operator-revocation',
      'store-faults',
      'audit',
    ),
  },
  {
    folder: 'apps/gateway/src/authentication',
    tests: gateway(
      'signature-headers',
      'signature-vectors',
      'signed-query',
      'signed-body',
      'signed-methods',
      'signature-replay',
      'signature-v2',
      'signature-v2-request',
      'bearer-token',
      'access-token-operation',
      'held-bodies',
      'open-replies',
      'store-engines',
      'audit',
    ),
  },
  {
    folder: 'apps/gateway/src/pipeline',
    tests: gateway(
      'rate-limits',
      'sealed-reply',
      'sealed-reply-v2',
      'bearer-token',
      'signed-body',
      'cross-origin',
      'forwarded-request',
      'forwarded-exchange',
      'request-target',
      'caller-left',
      'held-bodies',
      'open-replies',
      'upstream-faults',
      'store-engines',
      'audit',
    ),
  },
];
