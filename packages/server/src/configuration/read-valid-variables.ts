import type { z } from 'zod';
import { type Environment, parseVariables } from './environment.ts';
import { findMisspelledVariables } from './misspelled-variables.ts';
import type { ProblemCollector } from './problem-collector.ts';

/**
 * Reads the valid variables and collects the problems of the others, so that an app can report them
 * together with missing and forbidden settings.
 *
 * @param indispensable variables that decide which rules apply and whether the app may create files
 * @throws ConfigurationError if an indispensable variable is invalid or misspelled
 */
export function readValidVariables<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
  problems: ProblemCollector,
  indispensable: readonly string[],
): z.infer<Schema> {
  const misspelled = findMisspelledVariables(environment).problems;
  problems.add(misspelled);
  const read = problems.attempt(() => parseVariables(schema, environment));
  const isValid = (name: string, value: string | undefined) => {
    const variable = schema.shape[name] as z.ZodType | undefined;
    return variable === undefined || value === '' || variable.safeParse(value).success;
  };
  const isUnknown = (name: string) =>
    !isValid(name, environment[name]) ||
    misspelled.some(({ meant }) => meant === name || meant === `${name}_FILE`);
  if (indispensable.some(isUnknown)) {
    problems.throwIfAny();
  }
  if (read !== undefined) {
    return read;
  }
  const valid = Object.entries(environment).filter(([name, value]) => isValid(name, value));
  const rest = problems.attempt(() => parseVariables(schema, Object.fromEntries(valid)));
  if (rest === undefined) {
    problems.throwIfAny();
    throw new Error('Reading the variables failed without a problem.');
  }
  return rest;
}
