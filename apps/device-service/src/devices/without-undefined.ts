type Loose<Shape> = { readonly [Name in keyof Shape]: Shape[Name] | undefined };

/** Leaves out the members that say nothing, so that what is there is what shall change. */
export function withoutUndefined<Shape extends object>(loose: Loose<Shape>): Shape {
  return Object.fromEntries(
    Object.entries(loose).filter(([, value]) => value !== undefined),
  ) as Shape;
}
