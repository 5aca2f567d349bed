/**
 * Measures how long a batch of 10,000 devices takes over HTTP, on both engines with durable
 * commits. The first batch goes into an empty organization, the others next to earlier devices.
 *
 *   node bench/device-service/batches.ts [rounds]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  databaseEngines,
  startDatabaseEngine,
} from '../../apps/device-service/test/database-engines.ts';
import { createDeviceClient } from '../../apps/device-service/test/device-client.ts';
import { startGatewayDouble } from '../../apps/device-service/test/gateway-double.ts';
import { startServiceProcess } from '../../apps/device-service/test/service-process.ts';
import { median } from '../machinery/percentile.ts';
import { print, timed } from './printing.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const DEVICES = 10_000;

const gateway = await startGatewayDouble();
for (const name of databaseEngines) {
  const engine = await startDatabaseEngine(name);
  const directory = mkdtempSync(join(tmpdir(), 'device-bench-'));
  const service = await startServiceProcess({
    DATA_DIR: directory,
    DATABASE_URL: engine.url,
    GATEWAY_URL: gateway.issuer,
    GATEWAY_JWKS_URL: gateway.jwksUrl,
  });
  const client = createDeviceClient({ url: service.url, gateway });
  const seconds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const batch = Array.from({ length: DEVICES }, (_, i) => ({
      id: `d-${round}-${i}`,
      name: `Device ${i} of round ${round}`,
      productId: `product-${i % 20}`,
      productName: `Product ${i % 20}`,
      configuration: { isDebug: 'false', parseType: '' },
    }));
    seconds.push((await timed(() => client.createAll(batch))) / 1000);
  }
  const all = seconds.map((each) => each.toFixed(2)).join(' ');
  print(`${name.padEnd(9)} ${all} s, median ${median(seconds).toFixed(2)} s`);
  await service.end('SIGTERM');
  await engine.stop();
  rmSync(directory, { recursive: true });
}
await gateway.stop();
