import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import {
  type ConfigurationProblem,
  createProblemCollector,
  type ProblemCollector,
  readableIssue,
} from './configuration-error.ts';
import { findMisspelledVariables, secretVariables, settingOf } from './variable-names.ts';

/** The process environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the variables of a schema. An empty variable counts as not set, because compose files and
 * shells pass on variables without a value.
 *
 * @param collected receives the problems, so that an app can report them together with missing and
 *   forbidden settings
 * @param indispensable variables that decide which rules apply and whether the app may create files
 * @throws ConfigurationError that lists every invalid variable and every misspelled security
 *   variable, unless they are collected and no indispensable one is wrong
 */
export function parseEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
  collected?: ProblemCollector,
  indispensable: readonly string[] = [],
): z.infer<Schema> {
  const problems = collected ?? createProblemCollector();
  const { problems: misspelled } = findMisspelledVariables(environment);
  const invalid: ConfigurationProblem[] = [];
  const read: Record<string, unknown> = {};
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape;
  for (const [name, type] of Object.entries(shape)) {
    const text = textOf(name, environment, invalid);
    const parsed = type.safeParse(text, { error: readableIssue });
    invalid.push(...(parsed.error?.issues ?? []).map(({ message }) => ({ name, message })));
    read[name] = parsed.success ? parsed.data : type.safeParse(undefined).data;
  }
  problems.add([...misspelled, ...invalid]);
  const wrong = [...invalid.map(({ name }) => name), ...misspelled.map(({ meant }) => meant)];
  const isWrong = (name: string) => wrong.includes(name) || wrong.includes(`${name}_FILE`);
  if (collected === undefined || indispensable.some(isWrong)) {
    problems.throwIfAny();
  }
  return read as z.infer<Schema>;
}

/** The value of a variable, or the content of the file that `NAME_FILE` names. */
function textOf(
  name: string,
  environment: Environment,
  problems: ConfigurationProblem[],
): string | undefined {
  const value = settingOf(name, environment);
  const file = secretVariables.includes(name) ? environment[`${name}_FILE`] : undefined;
  if (!file) {
    return value;
  }
  if (value !== undefined) {
    problems.push({ name, message: `set either ${name} or ${name}_FILE, not both` });
  }
  const reject = (problem: string) => {
    // Omits the path, because an operator may have put the secret itself there.
    problems.push({ name: `${name}_FILE`, message: `names a file that ${problem}` });
    return undefined;
  };
  try {
    return readFileSync(file, 'utf8').trim() || reject('is empty');
  } catch {
    return reject('cannot be read');
  }
}
