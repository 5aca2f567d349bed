import type { z } from 'zod';
import type { Environment } from './environment.ts';
import { retiredVariables, secretVariables, settingOf } from './variable-names.ts';

/** A setting of a running process, for operators. */
export interface EffectiveSetting {
  /** The name of its variable. */
  readonly name: string;
  /** Absent if it is a secret, or if nothing is set and there is no default. */
  readonly value?: string;
  /** `file`: the file that `NAME_FILE` names. */
  readonly origin: 'variable' | 'file' | 'default';
}

const MAXIMUM_CHARACTERS = 200;

/** The settings in effect. None of them contains the value of a variable that can be a secret. */
export function effectiveSettings(
  schema: z.ZodObject,
  environment: Environment,
): readonly EffectiveSetting[] {
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape;
  return Object.entries(shape).flatMap(([name, type]): readonly EffectiveSetting[] => {
    const meta = type.meta() ?? {};
    const isSecret = meta.secret === true || secretVariables.includes(name);
    const given = settingOf(name, environment);
    if (isSecret && (given !== undefined || environment[`${name}_FILE`])) {
      return [{ name, origin: given === undefined ? 'file' : 'variable' }];
    }
    if (given === undefined && name in retiredVariables) {
      return [];
    }
    // Documents mark the names in a description of the default as code.
    const described =
      typeof meta.default === 'string' ? meta.default.replaceAll('`', '') : undefined;
    const text = given ?? described ?? defaultOf(type);
    const value = text === undefined ? {} : { value: text.slice(0, MAXIMUM_CHARACTERS) };
    return [{ name, ...value, origin: given === undefined ? 'default' : 'variable' }];
  });
}

/** The default of a variable as operators write it. Undefined if it has none. */
export function defaultOf(schema: z.ZodType): string | undefined {
  const value = schema.safeParse(undefined).data as unknown;
  if (value === undefined || (Array.isArray(value) && value.length === 0)) {
    return undefined;
  }
  return `${typeof value === 'object' && value !== null ? Object.values(value).join('/') : value}`;
}
