import { GatehouseError } from './gatehouse-error.ts';

/** Names the option that is wrong, for example because a variable is not set. */
export function assertOption<Name extends string>(
  options: Readonly<Record<Name, unknown>>,
  name: Name,
  form = /./,
): void {
  const value = options[name];
  if (!form.test(String(value ?? ''))) {
    throw new GatehouseError('invalid_options', `The option ${name} is missing or not valid.`, {
      hint: `The given options are ${Object.keys(options)}.`,
    });
  }
}

export function readAddress<Name extends string>(
  options: Readonly<Record<Name, string | URL>>,
  name: Name,
): URL {
  assertOption(options, name, /^https?:/);
  return new URL(options[name]);
}
