import { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';

/** Gathers what several steps of reading a configuration find wrong, so that the operator sees it all at once. */
export interface ProblemCollector {
  /** The step's result; undefined when it threw a ConfigurationError, whose problems are kept. */
  attempt<Result>(step: () => Result): Result | undefined;
  add(problems: readonly ConfigurationProblem[]): void;
  /** @throws ConfigurationError with everything so far, where there is anything */
  throwIfAny(): void;
}

export function createProblemCollector(): ProblemCollector {
  // By name and message: what two steps find is one problem.
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
