// requires: postgresql
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { databaseEngines, startDatabaseEngine } from './database-engines.ts';
import { createDeviceClient } from './device-client.ts';
import { startGatewayDouble } from './gateway-double.ts';
import { createUnderKills, readAll } from './kill-rounds.ts';
import { startServiceProcess } from './service-process.ts';

const MINUTE = 60_000;

describe.each(databaseEngines)('a device service on %s', (name) => {
  test(
    'killed 50 times during 10,000 creates keeps every acknowledged device',
    async () => {
      const engine = await startDatabaseEngine(name);
      const gateway = await startGatewayDouble();
      const directory = mkdtempSync(join(tmpdir(), 'device-kill-'));
      const environment = {
        DATA_DIR: directory,
        DATABASE_URL: engine.url,
        GATEWAY_URL: gateway.issuer,
        GATEWAY_JWKS_URL: gateway.jwksUrl,
      };
      const organization = 'org-kill';

      const acknowledged = await createUnderKills({
        environment,
        gateway,
        rounds: 50,
        creates: 10_000,
        organization,
      });

      const service = await startServiceProcess(environment);
      const client = createDeviceClient({ url: service.url, gateway });
      const { ids, total } = await readAll(client, organization);
      await service.end('SIGTERM');
      await gateway.stop();
      await engine.stop();
      rmSync(directory, { recursive: true });
      expect(acknowledged.length).toBeGreaterThanOrEqual(10_000);
      expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
      expect(total).toBe(ids.size);
    },
    10 * MINUTE,
  );
});
