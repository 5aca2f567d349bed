/** The part of the library's private state that the patches use. */
declare module 'oidc-provider/lib/helpers/weak_cache.js' {
  import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

  export default function internalsOf(provider: Provider): {
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
  };
}

declare module 'oidc-provider/lib/actions/end_session.js' {
  import type { KoaContextWithOIDC } from 'oidc-provider';

  /** The steps after the question, of which the last one ends the session. */
  export const confirm: readonly ((context: KoaContextWithOIDC) => Promise<void>)[];
}
