// requires: postgresql
import { describe } from '@jest/globals';
import { batchContract } from './contract/batch-contract.ts';
import { deviceContract } from './contract/device-contract.ts';
import { logContract } from './contract/log-contract.ts';
import { productContract } from './contract/product-contract.ts';
import { queryContract } from './contract/query-contract.ts';
import { bootOnEngines } from './device-suite.ts';

describe.each(await bootOnEngines())('on $name', ({ app }) => {
  deviceContract(app);
  productContract(app);
  logContract(app);
  queryContract(app);
  batchContract(app);
});
