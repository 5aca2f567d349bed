/**
 * A separate process for tests: `node read-secret.ts <path> <content> <epoch milliseconds to
 * start at>`.
 */
import { readOrCreateSecretFile } from '../src/configuration.ts';

const [path = '', content = '', startAt = '0'] = process.argv.slice(2);
while (Date.now() < Number(startAt)) {
  // All processes start to read at the same moment.
}
process.stdout.write(readOrCreateSecretFile(path, () => content));
