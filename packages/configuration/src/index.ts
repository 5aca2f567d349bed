export { isAddressOrRange } from './environment/address-range.ts';
export {
  ConfigurationError,
  type ConfigurationProblem,
} from './environment/configuration-error.ts';
export { debuggingProblems } from './environment/debugging-problems.ts';
export { describeStartFailure } from './environment/describe-start-failure.ts';
export {
  addressList,
  baseUrl,
  commonVariables,
  type Environment,
  logLevel,
  parseEnvironment,
  parseVariables,
  port,
  socketPath,
  toProblems,
} from './environment/environment.ts';
export { knownVariables, securityVariables } from './environment/known-variables.ts';
export { isLoopbackUrl } from './environment/loopback-url.ts';
export {
  findMisspelledVariables,
  type MisspelledVariables,
} from './environment/misspelled-variables.ts';
export { operationsPortOf, operationsPortRule } from './environment/operations-port.ts';
export { createProblemCollector, type ProblemCollector } from './environment/problem-collector.ts';
export { readValidVariables } from './environment/read-valid-variables.ts';
export { readableIssue } from './environment/readable-issue.ts';
export { resolveTracing, tracingVariables } from './environment/tracing-variables.ts';
export type { SecretFile } from './secret-files/exposed-file.ts';
export {
  type FileAccess,
  inspectFileAccess,
  secretFilesOf,
} from './secret-files/inspect-file-access.ts';
export { readOrCreateSecretFile } from './secret-files/key-file.ts';
