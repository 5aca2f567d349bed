import type { z } from 'zod';
import { type Environment, parseVariables } from './environment.ts';
import { findMisspeltVariables } from './misspelt-variables.ts';
import type { ProblemCollector } from './problem-collector.ts';

/**
 * Reads on without what is malformed or misspelt, so that it is reported together with what is missing or forbidden.
 *
 * @param indispensable without these variables nobody knows which rules apply, or whether files may be made: where one
 *   is malformed or misspelt, it ends here
 * @throws ConfigurationError where there is nothing to go on with
 */
export function readOn<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
  problems: ProblemCollector,
  indispensable: readonly string[],
): z.infer<Schema> {
  const misspelt = findMisspeltVariables(environment);
  problems.add(misspelt);
  const read = problems.attempt(() => parseVariables(schema, environment));
  const isWellFormed = (name: string, value: string | undefined) => {
    const own = schema.shape[name] as z.ZodType | undefined;
    return own === undefined || value === '' || own.safeParse(value).success;
  };
  const isUnknown = (name: string) =>
    !isWellFormed(name, environment[name]) ||
    misspelt.some(({ meant }) => meant === name || meant === `${name}_FILE`);
  if (indispensable.some(isUnknown)) {
    problems.throwIfAny();
  }
  if (read !== undefined) {
    return read;
  }
  const wellFormed = Object.entries(environment).filter(([name, value]) =>
    isWellFormed(name, value),
  );
  const rest = problems.attempt(() => parseVariables(schema, Object.fromEntries(wellFormed)));
  if (rest === undefined) {
    problems.throwIfAny();
    throw new Error('Reading the variables failed without a problem.');
  }
  return rest;
}
