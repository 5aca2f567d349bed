import { type Environment, type SecretFile, secretFilesOf } from '@gatehouse/configuration';
import { bootstrapSecretFiles } from './bootstrap/load-bootstrap.ts';

/** The files with secrets that an operator names for the identity store, those that the bootstrap file names included. */
export function identitySecretFiles(environment: Environment): readonly SecretFile[] {
  const { BOOTSTRAP_FILE } = environment;
  return [
    ...secretFilesOf(environment, ['STORE_URL_FILE', 'MASTER_KEY_FILE', 'BOOTSTRAP_FILE']),
    ...(BOOTSTRAP_FILE ? bootstrapSecretFiles(BOOTSTRAP_FILE) : []),
  ];
}
