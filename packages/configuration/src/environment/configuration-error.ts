/** One reason why a process refuses to start: the variable, file or member, never its value. */
export interface ConfigurationProblem {
  readonly name: string;
  readonly message: string;
}

/** Everything that is wrong with a configuration, so that the operator mends it in one go. */
export class ConfigurationError extends Error {
  readonly problems: readonly ConfigurationProblem[];

  constructor(problems: readonly ConfigurationProblem[]) {
    super(problems.map((problem) => `${problem.name}: ${problem.message}`).join('\n'));
    this.name = 'ConfigurationError';
    this.problems = problems;
  }
}
