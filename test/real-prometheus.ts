import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, type Member, until } from '@gatehouse/testing';
import { root } from './source-tree.ts';

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };
/** So many times faster than in production. Rates still need two scrapes, one in each second. */
const SPEED = 20;
const MINIMUM_SECONDS = 3;

export interface Prometheus {
  readonly url: string;
  /** The names of the alerts that fire now. */
  firing(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** A real Prometheus that scrapes the apps each second, with the shipped rules in fast motion. */
export async function startPrometheus(members: readonly Member[]): Promise<Prometheus> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-prometheus-'));
  const rules = readFileSync(join(root, 'deploy/monitoring/alerts.yml'), 'utf8');
  writeFileSync(join(directory, 'alerts.yml'), inFastMotion(rules));
  const configuration = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['alerts.yml'],
    scrape_configs: members.map(({ app, operationsUrl }) => ({
      job_name: `gatehouse-${app}`,
      static_configs: [{ targets: [new URL(operationsUrl).host] }],
    })),
  };
  writeFileSync(join(directory, 'prometheus.json'), JSON.stringify(configuration));
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const server = spawn(
    'prometheus',
    [
      `--config.file=${join(directory, 'prometheus.json')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: 'ignore' },
  );
  const closed = once(server, 'close');
  await until(async () => (await fetch(`${url}/-/ready`)).ok);
  return {
    url,
    async firing() {
      const reply = await fetch(`${url}/api/v1/alerts`);
      const { data } = (await reply.json()) as {
        data: { alerts: readonly { state: string; labels: { alertname: string } }[] };
      };
      const active = data.alerts.filter(({ state }) => state === 'firing');
      return [...new Set(active.map(({ labels }) => labels.alertname))].toSorted();
    },
    async stop() {
      server.kill();
      await closed;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function inFastMotion(rules: string): string {
  return rules.replaceAll(/(?<=for: |\[)(\d+)([smh])/g, (_text, amount, unit) => {
    const seconds = (Number(amount) * (SECONDS[unit] ?? 1)) / SPEED;
    return `${Math.max(MINIMUM_SECONDS, Math.round(seconds))}s`;
  });
}
