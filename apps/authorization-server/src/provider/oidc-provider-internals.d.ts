/** What enable-implicit.ts reaches for; nothing else may. */
declare module 'oidc-provider/lib/helpers/weak_cache.js' {
  import type Provider from 'oidc-provider';

  export default function instance(provider: Provider):
    | {
        readonly configuration: {
          readonly responseTypes: string[];
          readonly grantTypes: Set<string>;
        };
      }
    | undefined;
}
