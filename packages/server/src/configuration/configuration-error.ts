import type { z } from 'zod';

/**
 * A reason why a process does not start. `name` is a variable, file or member. No value is
 * included.
 */
export interface ConfigurationProblem {
  readonly name: string;
  readonly message: string;
}

/** Lists every problem of a configuration, so that an operator can correct all of them at once. */
export class ConfigurationError extends Error {
  readonly problems: readonly ConfigurationProblem[];

  constructor(problems: readonly ConfigurationProblem[]) {
    super(problems.map((problem) => `${problem.name}: ${problem.message}`).join('\n'));
    this.name = 'ConfigurationError';
    this.problems = problems;
  }
}

export type ProblemCollector = ReturnType<typeof createProblemCollector>;

/** Collects the problems of several configuration steps, so that an operator sees all of them. */
export function createProblemCollector() {
  const found: ConfigurationProblem[] = [];
  return {
    add: (problems: readonly ConfigurationProblem[]) => void found.push(...problems),
    /** Returns the result of a step, or collects the problems of its ConfigurationError. */
    attempt<Result>(step: () => Result): Result | undefined {
      try {
        return step();
      } catch (error) {
        if (!(error instanceof ConfigurationError)) {
          throw error;
        }
        found.push(...error.problems);
        return undefined;
      }
    },
    /** @throws ConfigurationError with all collected problems, if there are any */
    throwIfAny(): void {
      if (found.length > 0) {
        // Two steps can report the same problem.
        const distinct = new Map(found.map((each) => [`${each.name}: ${each.message}`, each]));
        throw new ConfigurationError([...distinct.values()]);
      }
    },
  };
}

/** The text that an app prints if it cannot start. Each configuration problem is on one line. */
export function describeStartFailure(app: string, error: unknown): string {
  if (error instanceof ConfigurationError) {
    const lines = error.message.replace(/^/gm, '  ');
    return `${app} did not start, because of its configuration:\n${lines}`;
  }
  const { message, cause } = error instanceof Error ? error : new Error('unknown reason');
  const reason = cause instanceof Error ? `${message} (${cause.message})` : message;
  return `${app} did not start: ${reason}`;
}

/** Converts the issues of zod to problems, without the invalid values. */
export function toProblems(error: z.ZodError): ConfigurationProblem[] {
  return error.issues.map((issue) => ({
    name: issue.path.length === 0 ? '(whole)' : issue.path.map(String).join('.'),
    message: issue.message,
  }));
}

/**
 * The messages of issues for which a schema has no message. Zod's own messages are for developers.
 * Undefined keeps the message of Zod. Never quotes a value.
 */
export function readableIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must have the type ${issue.expected}`;
    case 'invalid_value':
      return `must be one of: ${issue.values.map(String).join(', ')}`;
    case 'unrecognized_keys':
      return `has unknown members: ${issue.keys.join(', ')}`;
    case 'invalid_key':
      return `has an invalid name: ${messagesOf([issue.issues])}`;
    case 'invalid_union':
      return messagesOf(issue.errors);
    default:
      return undefined;
  }
}

/** The first message of each alternative. */
function messagesOf(alternatives: readonly (readonly z.core.$ZodIssue[])[]): string {
  return [...new Set(alternatives.map(([first]) => first?.message))].join(', or ');
}
