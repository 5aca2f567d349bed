import { userInfo } from 'node:os';
import type { Environment } from '@gatehouse/server/configuration';

const MAXIMUM_CHARACTERS = 64;

/**
 * The name of the operator for the audit trail: the account that called `sudo`, or the account of
 * the process. Compose sets `SUDO_USER`, because every operator has the same account in a container.
 * Nothing verifies the name.
 */
export function operatorName(environment: Environment): string | undefined {
  // One more release reads GATEHOUSE_OPERATOR.
  const given = (environment.GATEHOUSE_OPERATOR || environment.SUDO_USER)?.replace(
    /[^\x20-\x7e]/g,
    '',
  );
  return given === undefined || given === '' ? accountName() : given.slice(0, MAXIMUM_CHARACTERS);
}

/** Undefined in a container that has no name for the account. */
function accountName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
