type Loose<Shape> = { readonly [Name in keyof Shape]: Shape[Name] | undefined };

/** Removes the members that are undefined: an update changes only the members that exist. */
export function withoutUndefined<Shape extends object>(loose: Loose<Shape>): Shape {
  return Object.fromEntries(
    Object.entries(loose).filter(([, value]) => value !== undefined),
  ) as Shape;
}
