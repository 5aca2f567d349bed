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
  const problems: ConfigurationProblem[] = [];
  return {
    attempt(step) {
      try {
        return step();
      } catch (error) {
        if (!(error instanceof ConfigurationError)) {
          throw error;
        }
        problems.push(...error.problems);
        return undefined;
      }
    },
    add(more) {
      problems.push(...more);
    },
    throwIfAny() {
      if (problems.length > 0) {
        throw new ConfigurationError(problems);
      }
    },
  };
}
