import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import {
  ConfigurationError,
  type ConfigurationProblem,
  createProblemCollector,
  type ProblemCollector,
  toProblems,
} from './configuration-error.ts';
import { findMisspelledVariables, secretVariables, settingOf } from './variable-names.ts';

/** The process environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the valid variables and collects the problems of the others, so that an app can report them
 * together with missing and forbidden settings. An empty variable counts as not set, because
 * compose files and shells pass on variables without a value.
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
  const { problems: misspelled } = findMisspelledVariables(environment);
  const { values, problems: unreadable } = valuesOf(schema, environment);
  const parsed = schema.safeParse(values);
  const invalid = [...unreadable, ...(parsed.success ? [] : toProblems(parsed.error))];
  problems.add(misspelled);
  problems.add(invalid);
  const wrong = new Set(
    [...invalid.map(({ name }) => name), ...misspelled.map(({ meant }) => meant)].map((name) =>
      name in schema.shape ? name : name.replace(/_FILE$/, ''),
    ),
  );
  if (indispensable.some((name) => wrong.has(name))) {
    problems.throwIfAny();
  }
  const valid = Object.entries(values).filter(([name]) => !wrong.has(name));
  const rest = schema.safeParse(Object.fromEntries(valid));
  if (!rest.success) {
    problems.add(toProblems(rest.error));
    problems.throwIfAny();
  }
  return rest.data as z.infer<Schema>;
}

/**
 * Reads the variables of a schema.
 *
 * @throws ConfigurationError that lists every invalid variable and every misspelled security
 *   variable
 */
export function parseEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): z.infer<Schema> {
  const problems = createProblemCollector();
  const read = readValidVariables(schema, environment, problems, []);
  problems.throwIfAny();
  return read;
}

/**
 * The same, without looking for misspelled names.
 *
 * @throws ConfigurationError that lists every invalid variable
 */
export function parseVariables<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): z.infer<Schema> {
  const { values, problems } = valuesOf(schema, environment);
  const parsed = schema.safeParse(values);
  if (!parsed.success || problems.length > 0) {
    throw new ConfigurationError([
      ...problems,
      ...(parsed.success ? [] : toProblems(parsed.error)),
    ]);
  }
  return parsed.data;
}

/** The values of the variables that are set, including those in files. */
function valuesOf(schema: z.ZodObject, environment: Environment) {
  const problems: ConfigurationProblem[] = [];
  const values: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = secretVariables.includes(name)
      ? readSecret(name, environment, problems)
      : settingOf(name, environment);
    if (value !== undefined && value !== '' && !isServiceLink(name, environment)) {
      values[name] = value;
    }
  }
  return { values, problems };
}

function readSecret(
  name: string,
  environment: Environment,
  problems: ConfigurationProblem[],
): string | undefined {
  const value = environment[name] || undefined;
  const file = environment[`${name}_FILE`] || undefined;
  if (file === undefined) {
    return value;
  }
  if (value !== undefined) {
    problems.push({ name, message: `set either ${name} or ${name}_FILE, not both` });
  }
  // The message omits the path, because an operator may have put the secret itself there.
  try {
    const content = readFileSync(file, 'utf8').trim();
    if (content === '') {
      problems.push({ name: `${name}_FILE`, message: 'names a file that is empty' });
    }
    return content;
  } catch {
    problems.push({ name: `${name}_FILE`, message: 'names a file that cannot be read' });
    return undefined;
  }
}

/**
 * Returns whether Kubernetes set a variable for a Service, such as
 * `GATEWAY_PORT=tcp://10.0.0.1:8844` for a Service called `gateway`. Such a variable is no setting
 * of an operator. Kubernetes always sets `GATEWAY_SERVICE_HOST` with it.
 */
function isServiceLink(name: string, environment: Environment): boolean {
  const service = name.replace(/_PORT$/, '');
  return (
    service !== name &&
    Boolean(environment[`${service}_SERVICE_HOST`]) &&
    /^(?:tcp|udp|sctp):\/\/\S+:\d{1,5}$/.test(environment[name] ?? '')
  );
}
