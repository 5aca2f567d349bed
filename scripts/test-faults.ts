/**
 * `npm run test:faults -- [FILE] [Jest options]`: breaks a single Redis, Sentinel and a cluster
 * while real servers are under load.
 */
import { memoryFolder } from './memory-folder.ts';
import { runSuite } from './run-suite.ts';
import { installMissingServices } from './services.ts';

installMissingServices(['redis-server', 'openssl']);
const suite = { folder: 'test/faults', suffix: '.test.ts' };
process.exitCode = runSuite(suite, process.argv.slice(2), { ...memoryFolder(), FAULT_TESTS: '1' })
  ? 0
  : 1;
