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
export {
  inspectFileAccess,
  readOrCreateSecretFile,
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
export {
  findMisspelledVariables,
  formerVariables,
  knownVariables,
  retiredVariables,
} from './configuration/variable-names.ts';
