import type { Labeled } from '@gatehouse/device-api';

export type LabelLanguage = 'en' | 'zh';

export type Labels<Value extends string> = Readonly<
  Record<Value, Readonly<Record<LabelLanguage, string>>>
>;

export function label<Value extends string>(
  labels: Labels<Value>,
  value: Value,
  language: LabelLanguage,
): Labeled<Value> {
  return { text: labels[value][language], value };
}
