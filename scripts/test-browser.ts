/**
 * `npm run test:browser -- [FILE] [Jest options]`: the pages in Chromium, on phones and desktops,
 * with axe-core.
 */
import { memoryFolder } from './memory-folder.ts';
import { runSuite } from './run-suite.ts';
import { installMissingServices } from './services.ts';

installMissingServices(['chromium', 'redis-server']);
const suite = { folder: '', suffix: '.browser.test.ts' };
// On a busy machine, Chromium needs many seconds for its first page.
const args = [...process.argv.slice(2), '--testTimeout=90000'];
process.exitCode = runSuite(suite, args, { ...memoryFolder(), BROWSER_TESTS: '1' }) ? 0 : 1;
