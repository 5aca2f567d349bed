// requires: postgresql
import { afterAll, beforeAll, describe } from '@jest/globals';
import { type BootedApp, bootApp } from './booted-app.ts';
import { batchContract } from './contract/batch-contract.ts';
import { changeDeviceContract } from './contract/change-device-contract.ts';
import { createDeviceContract } from './contract/create-device-contract.ts';
import { deviceDetailContract } from './contract/device-detail-contract.ts';
import { listDevicesContract } from './contract/list-devices-contract.ts';
import { logContract } from './contract/log-contract.ts';
import { productContract } from './contract/product-contract.ts';
import { queryContract } from './contract/query-contract.ts';
import { tagContract } from './contract/tag-contract.ts';
import {
  type DatabaseEngineForTest,
  databaseEngines,
  startDatabaseEngine,
} from './database-engines.ts';

describe.each(databaseEngines)('on %s', (name) => {
  let engine: DatabaseEngineForTest;
  let app: BootedApp;

  beforeAll(async () => {
    engine = await startDatabaseEngine(name);
    app = await bootApp(engine.location);
  });

  afterAll(async () => {
    await app.close();
    await engine.stop();
  });

  createDeviceContract(() => app);
  deviceDetailContract(() => app);
  listDevicesContract(() => app);
  changeDeviceContract(() => app);
  productContract(() => app);
  tagContract(() => app);
  logContract(() => app);
  queryContract(() => app);
  batchContract(() => app);
});
