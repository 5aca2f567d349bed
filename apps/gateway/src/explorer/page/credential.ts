/** How the request authenticates. The page keeps it in memory only. */
export type Credential =
  | { readonly kind: 'access-token'; readonly token: string }
  | { readonly kind: 'x-access-token'; readonly token: string }
  | SecureKeyCredential;

export interface SecureKeyCredential {
  readonly kind: 'secure-key';
  readonly version: 1 | 2;
  readonly clientId: string;
  readonly secureKey: string;
}

/** A problem that the developer can correct in the form. */
export class InputProblem extends Error {
  /** The id of the field. */
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}
