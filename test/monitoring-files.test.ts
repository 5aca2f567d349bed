import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { root } from './source-tree.ts';

test('Grafana in containers sends no reports, checks no updates and installs no plugins', () => {
  const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), {
    maxAliasCount: -1,
  });
  expect(services.grafana.environment).toMatchObject({
    GF_ANALYTICS_REPORTING_ENABLED: 'false',
    GF_ANALYTICS_CHECK_FOR_UPDATES: 'false',
    GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES: 'false',
    GF_NEWS_NEWS_FEED_ENABLED: 'false',
    GF_PLUGINS_PLUGIN_ADMIN_ENABLED: 'false',
    GF_PLUGINS_PREINSTALL_DISABLED: 'true',
    GF_SNAPSHOTS_EXTERNAL_ENABLED: 'false',
  });
});
