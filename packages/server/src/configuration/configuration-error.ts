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
