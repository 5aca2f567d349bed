import { resolve } from 'node:path';
import type { Environment } from '@gatehouse/server/configuration';

/**
 * A path relative to the folder of the caller. npm runs a script in the folder of the project, and
 * names the folder of the caller in `INIT_CWD`.
 */
export function callerPath(path: string, environment: Environment): string {
  return resolve(environment.INIT_CWD ?? '.', path);
}
