/**
 * `npm run test:browser -- [FILE] [Jest options]`: the pages in Chromium, on phones and desktops,
 * with axe-core.
 */
import { memoryFolder } from './memory-folder.ts';
import { runSuite } from './run-suite.ts';
import { installMissingServices } from './services.ts';

installMissingServices(['chromium', 'redis-server']);
const suite = { folder: '', suffix: '.browser.test.ts' };
const environment = { ...memoryFolder(), BROWSER_TESTS: '1' };
process.exitCode = runSuite(suite, process.argv.slice(2), environment) ? 0 : 1;
