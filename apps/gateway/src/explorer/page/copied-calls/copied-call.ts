import type { ApiRequest } from '../api-request.ts';

/**
 * What a copied call contains. Secrets are never part of it: the program reads them from the
 * environment.
 */
export interface CopiedCall {
  readonly gatewayUrl: string;
  readonly request: ApiRequest;
  readonly credential: CopiedCredential;
}

export type CopiedCredential =
  | { readonly kind: 'access-token' | 'x-access-token' }
  | { readonly kind: 'secure-key'; readonly version: 1 | 2; readonly clientId: string };

/** The variable that contains the secret. */
export function variableOf({ kind }: CopiedCredential): string {
  return {
    'access-token': 'ACCESS_TOKEN',
    'x-access-token': 'X_ACCESS_TOKEN',
    'secure-key': 'SECURE_KEY',
  }[kind];
}

export function targetOf({ path, query }: ApiRequest): string {
  return path + (query === '' ? '' : `?${query}`);
}
