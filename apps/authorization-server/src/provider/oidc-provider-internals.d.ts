/**
 * The part of the library's private state that the patches use.
 */
declare module 'oidc-provider/lib/helpers/weak_cache.js' {
  import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

  export default function instance(provider: Provider):
    | {
        readonly configuration: {
          readonly responseTypes: string[];
          /** The claims of each scope. */
          readonly claims: Readonly<Record<string, Record<string, null>>>;
          readonly claimsSupported: Set<string>;
          readonly clockTolerance: number;
        };
        readonly keystore: { clear(): void; add(key: object): void };
        jwks: { readonly keys: readonly object[] };
        readonly responseModes: Map<
          string,
          (
            context: KoaContextWithOIDC,
            redirectUri: string,
            parameters: Readonly<Record<string, unknown>>,
          ) => void
        >;
        readonly grantTypeHandlers: Map<string, (context: KoaContextWithOIDC) => Promise<void>>;
      }
    | undefined;
}
