/**
 * Runs before every start with containers and makes what is missing in the volumes under /secrets. With `--renew NAME`
 * it replaces that secret; docs/operations.md names the services that have to read it again.
 */
import { makeTierSecrets, type RenewableSecret, renewableSecrets } from './tier-secrets.ts';

makeTierSecrets('/secrets', readRenewed());

/** One at a time: an operator who names two, or none, may believe that more was renewed than was. */
function readRenewed(): RenewableSecret | undefined {
  const [option, name, ...rest] = process.argv.slice(2);
  if (option === undefined) {
    return undefined;
  }
  const renewed = renewableSecrets.find((each) => each === name);
  if (option !== '--renew' || renewed === undefined || rest.length > 0) {
    console.error(`--renew takes one of: ${renewableSecrets.join(', ')}. Nothing was changed.`);
    process.exit(1);
  }
  return renewed;
}
