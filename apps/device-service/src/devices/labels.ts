export type LabelLanguage = 'en' | 'zh';

/** How the platform API shows an enumerated value: the value is for machines, the text for people. */
export interface Labelled<Value extends string> {
  readonly text: string;
  readonly value: Value;
}

export type Labels<Value extends string> = Readonly<
  Record<Value, Readonly<Record<LabelLanguage, string>>>
>;

export function label<Value extends string>(
  labels: Labels<Value>,
  value: Value,
  language: LabelLanguage,
): Labelled<Value> {
  return { text: labels[value][language], value };
}
