export {
  ConfigurationError,
  type ConfigurationProblem,
  createProblemCollector,
  describeStartFailure,
  readableIssue,
  toProblems,
} from './configuration/configuration-error.ts';
export { debuggingProblems } from './configuration/debugging.ts';
export {
  type Environment,
  parseEnvironment,
  parseVariables,
  readValidVariables,
} from './configuration/environment.ts';
export { formerVariables, knownVariables } from './configuration/known-variables.ts';
export { findMisspelledVariables } from './configuration/misspelled-variables.ts';
export { readOrCreateSecretFile } from './configuration/secret-file-creation.ts';
export {
  inspectFileAccess,
  type SecretFile,
  secretFilesOf,
} from './configuration/secret-files.ts';
export {
  addressList,
  baseUrl,
  commonVariables,
  isAddressOrRange,
  isLoopbackUrl,
  logLevel,
  operationsPortOf,
  operationsPortRule,
  port,
  rate,
  socketPath,
} from './configuration/variable-kinds.ts';
