/** A process of its own for the tests: `node read-secret.ts <path> <content> <epoch milliseconds to start at>`. */
import { readOrCreateSecretFile } from '../src/index.ts';

const [path = '', content = '', startAt = '0'] = process.argv.slice(2);
while (Date.now() < Number(startAt)) {
  // All processes arrive at the same moment.
}
process.stdout.write(readOrCreateSecretFile(path, () => content));
