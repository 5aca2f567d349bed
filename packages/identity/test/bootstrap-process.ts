/** Run by tests: `node bootstrap-process.ts <store URL> <master key> <bootstrap file>`. */
import { createStore } from '@gatehouse/store';
import { loadBootstrap } from '../src/bootstrap/load-bootstrap.ts';
import { applyBootstrap, openIdentity } from '../src/index.ts';

const [storeUrl = '', masterKey = '', file = ''] = process.argv.slice(2);
const store = createStore(storeUrl);
const identity = openIdentity({ store, masterKey: Buffer.from(masterKey, 'hex') });
await applyBootstrap(loadBootstrap(file), identity);
await store.close();
