/** An object of the document. */
export type Json = Readonly<Record<string, unknown>>;

export function component(kind: string, name: string): { readonly $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}
