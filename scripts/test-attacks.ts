/** `npm run test:attacks -- [FILE] [Jest options]`: attacks on running apps. */
import { memoryFolder } from './memory-folder.ts';
import { runSuite } from './run-suite.ts';
import { installMissingServices } from './services.ts';

installMissingServices(['redis-server', 'redis-cli']);
const suite = { folder: 'test/attacks', suffix: '.test.ts' };
process.exitCode = runSuite(suite, process.argv.slice(2), { ...memoryFolder(), ATTACK_TESTS: '1' })
  ? 0
  : 1;
