/**
 * Runs before every start of the containers and creates the missing secrets in the volumes under
 * /secrets. `--renew NAME` replaces a secret. docs/operations/secrets.md lists the services to
 * restart then.
 */
import {
  makeTierSecrets,
  type RenewableSecret,
  renewableSecrets,
  SecretFileError,
} from './tier-secrets.ts';

try {
  makeTierSecrets('/secrets', readRenewed());
} catch (error) {
  if (!(error instanceof SecretFileError)) {
    throw error;
  }
  console.error(error.message);
  process.exit(1);
}

/** Accepts exactly one name. Otherwise an operator might believe that more secrets are new. */
function readRenewed(): RenewableSecret | undefined {
  const [option, name, ...rest] = process.argv.slice(2);
  if (option === undefined) {
    return undefined;
  }
  const renewed = renewableSecrets.find((each) => each === name);
  if (option !== '--renew' || renewed === undefined || rest.length > 0) {
    console.error(`--renew accepts one of: ${renewableSecrets.join(', ')}. Nothing was changed.`);
    process.exit(1);
  }
  return renewed;
}
