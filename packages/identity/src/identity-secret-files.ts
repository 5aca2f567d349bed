import { type Environment, type SecretFile, secretFilesOf } from '@gatehouse/server/configuration';
import { bootstrapSecretFiles } from './bootstrap/load-bootstrap.ts';

/** The secret files of the identity store, including those that the bootstrap file names. */
export function identitySecretFiles(environment: Environment): readonly SecretFile[] {
  const { BOOTSTRAP_FILE } = environment;
  return [
    ...secretFilesOf(environment, ['STORE_URL_FILE', 'MASTER_KEY_FILE', 'BOOTSTRAP_FILE']),
    ...(BOOTSTRAP_FILE ? bootstrapSecretFiles(BOOTSTRAP_FILE) : []),
  ];
}
