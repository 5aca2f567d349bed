export {
  ConfigurationError,
  type ConfigurationProblem,
  createProblemCollector,
  describeStartFailure,
  type ProblemCollector,
  readableIssue,
  toProblems,
} from './configuration/configuration-error.ts';
export { debuggingProblems } from './configuration/debugging.ts';
export {
  defaultOf,
  type EffectiveSetting,
  effectiveSettings,
} from './configuration/effective-settings.ts';
export { type Environment, parseEnvironment } from './configuration/environment.ts';
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
  operationsPortOf,
  port,
  protectedUrl,
  rate,
  serverSettings,
  socketPath,
  wholeNumber,
} from './configuration/variable-kinds.ts';
export {
  findMisspelledVariables,
  knownVariables,
  retiredVariables,
} from './configuration/variable-names.ts';
