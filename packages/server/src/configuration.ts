export { isAddressOrRange } from './configuration/address-range.ts';
export {
  ConfigurationError,
  type ConfigurationProblem,
} from './configuration/configuration-error.ts';
export { debuggingProblems } from './configuration/debugging-problems.ts';
export { describeStartFailure } from './configuration/describe-start-failure.ts';
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
} from './configuration/environment.ts';
export { knownVariables, securityVariables } from './configuration/known-variables.ts';
export { isLoopbackUrl } from './configuration/loopback-url.ts';
export {
  findMisspelledVariables,
  type MisspelledVariables,
} from './configuration/misspelled-variables.ts';
export { operationsPortOf, operationsPortRule } from './configuration/operations-port.ts';
export {
  createProblemCollector,
  type ProblemCollector,
} from './configuration/problem-collector.ts';
export { readValidVariables } from './configuration/read-valid-variables.ts';
export { readableIssue } from './configuration/readable-issue.ts';
export type { SecretFile } from './secret-files/exposed-file.ts';
export {
  type FileAccess,
  inspectFileAccess,
  secretFilesOf,
} from './secret-files/inspect-file-access.ts';
export { readOrCreateSecretFile } from './secret-files/key-file.ts';
