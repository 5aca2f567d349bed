import type { z } from 'zod';
import { type Environment, parseEnvironment } from './environment.ts';
import type { ProblemCollector } from './problem-collector.ts';

/**
 * Reads on without what is malformed, so that it is reported together with what is missing or forbidden.
 *
 * @param indispensable without this variable nobody knows which rules apply: where it is malformed, it ends here
 * @throws ConfigurationError where there is nothing to go on with
 */
export function readOn<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
  problems: ProblemCollector,
  indispensable: string,
): z.infer<Schema> {
  const read = problems.attempt(() => parseEnvironment(schema, environment));
  if (read !== undefined) {
    return read;
  }
  const isWellFormed = (name: string, value: string | undefined) => {
    const own = schema.shape[name] as z.ZodType | undefined;
    return own === undefined || value === '' || own.safeParse(value).success;
  };
  if (!isWellFormed(indispensable, environment[indispensable])) {
    problems.throwIfAny();
  }
  const wellFormed = Object.entries(environment).filter(([name, value]) =>
    isWellFormed(name, value),
  );
  const rest = problems.attempt(() => parseEnvironment(schema, Object.fromEntries(wellFormed)));
  if (rest === undefined) {
    problems.throwIfAny();
    throw new Error('Reading the variables failed without a problem.');
  }
  return rest;
}
