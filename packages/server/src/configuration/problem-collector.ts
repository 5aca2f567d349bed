import { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';

/** Collects the problems of several configuration steps, so that an operator sees all of them. */
export interface ProblemCollector {
  /** Returns the result of a step, or collects the problems of its ConfigurationError. */
  attempt<Result>(step: () => Result): Result | undefined;
  add(problems: readonly ConfigurationProblem[]): void;
  /** @throws ConfigurationError with all collected problems, if there are any */
  throwIfAny(): void;
}

export function createProblemCollector(): ProblemCollector {
  // Keyed by name and message, because two steps can report the same problem.
  const found = new Map<string, ConfigurationProblem>();
  const add = (problems: readonly ConfigurationProblem[]) => {
    for (const problem of problems) {
      found.set(`${problem.name}: ${problem.message}`, problem);
    }
  };
  return {
    attempt(step) {
      try {
        return step();
      } catch (error) {
        if (!(error instanceof ConfigurationError)) {
          throw error;
        }
        add(error.problems);
        return undefined;
      }
    },
    add,
    throwIfAny() {
      if (found.size > 0) {
        throw new ConfigurationError([...found.values()]);
      }
    },
  };
}
