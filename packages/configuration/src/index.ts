export { isAddressOrRange } from './address-range.ts';
export { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';
export {
  addressList,
  baseUrl,
  commonVariables,
  type Environment,
  logLevel,
  parseEnvironment,
  port,
  socketPath,
  toProblems,
} from './environment.ts';
export type { SecretFile } from './exposed-file.ts';
export {
  type FileAccess,
  inspectFileAccess,
  secretFilesOf,
} from './inspect-file-access.ts';
export { readOrCreateSecretFile } from './key-file.ts';
export { knownVariables } from './known-variables.ts';
export { isLoopbackUrl } from './loopback-url.ts';
export { findMisspeltVariables, type MisspeltVariable } from './misspelt-variables.ts';
export { createProblemCollector, type ProblemCollector } from './problem-collector.ts';
export { readOn } from './read-on.ts';
