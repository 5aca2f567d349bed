/**
 * The profile `monitoring`. The published image of Prometheus is replaced by one with the Prometheus
 * of this machine, because tests do not download images. Grafana is not tested.
 */

import { execFile } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, until } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { type Container, createTier, docker, serviceOf, type Tier } from './tier.ts';

jest.setTimeout(180_000);

const run = promisify(execFile);
const PROMETHEUS_IMAGE = 'gatehouse-prometheus:test';

let tier: Tier;
let url: string;

beforeAll(async () => {
  await buildPrometheus();
  const PROMETHEUS_PORT = String(await freePort());
  url = `http://127.0.0.1:${PROMETHEUS_PORT}`;
  tier = await createTier({
    profiles: ['monitoring'],
    environment: { PROMETHEUS_IMAGE, PROMETHEUS_PORT },
  });
  await tier.up();
});
afterAll(async () => {
  await tier.remove();
  await docker('rmi', '--force', PROMETHEUS_IMAGE);
});

async function buildPrometheus(): Promise<void> {
  const context = temporaryFolder();
  for (const program of ['prometheus', 'promtool']) {
    copyFileSync(join('/usr/bin', program), join(context, program));
  }
  const lines = [
    'FROM debian:bookworm-slim',
    'COPY prometheus promtool /bin/',
    'RUN mkdir /prometheus && chown 65534:65534 /prometheus',
    'ENTRYPOINT ["/bin/prometheus"]',
  ];
  writeFileSync(join(context, 'Dockerfile'), `${lines.join('\n')}\n`);
  await run('docker', ['build', '--quiet', '--tag', PROMETHEUS_IMAGE, context]);
}

async function ask(path: string) {
  const reply = (await (await fetch(`${url}/api/v1/${path}`)).json()) as {
    // biome-ignore lint/suspicious/noExplicitAny: the HTTP API of Prometheus
    readonly data: any;
  };
  return reply.data;
}

describe('Prometheus in the profile monitoring', () => {
  test('scrapes every app, and evaluates the alert rules', async () => {
    await until(async () => {
      const { activeTargets } = await ask('targets?state=active');
      const targets = activeTargets.map(
        ({ labels, health }: { labels: { job: string }; health: string }) =>
          `${labels.job} ${health}`,
      );
      expect(targets.sort()).toEqual([
        'gatehouse-authorization-server up',
        'gatehouse-device-service up',
        'gatehouse-gateway up',
      ]);
    }, 60);
    const { groups } = await ask('rules');
    expect(groups.length).toBeGreaterThan(2);
    const { result } = await ask('query?query=gatehouse_workers');
    expect(result).toHaveLength(3);
  });

  test('alone has a network that leads out, and no app is in it', async () => {
    const fullName = (name: string) => `${tier.project}_${name}`;
    const networksOf = ({ NetworkSettings }: Container) => Object.keys(NetworkSettings.Networks);
    const names = ['monitoring', 'operations', 'service'].map(fullName);
    expect(networksOf(await tier.container('prometheus')).sort()).toEqual(names);
    const inside = (await tier.containers()).filter((each) =>
      networksOf(each).includes(fullName('monitoring')),
    );
    expect(inside.map(serviceOf)).toEqual(['prometheus']);
    const isInternal = (name: string) =>
      docker('network', 'inspect', '--format', '{{.Internal}}', fullName(name));
    expect(await isInternal('monitoring')).toBe('false\n');
    expect(await isInternal('operations')).toBe('true\n');
  });

  test('runs without privileges, and cannot reach the store or the database', async () => {
    const { Config, HostConfig } = await tier.container('prometheus');
    expect(Config.User).toBe('65534:65534');
    expect(HostConfig).toMatchObject({ ReadonlyRootfs: true, CapDrop: ['ALL'] });
    for (const address of ['redis/6379', 'postgres/5432']) {
      const attempt = tier.exec('prometheus', 'bash', '-c', `</dev/tcp/${address}`);
      await expect(attempt).rejects.toThrow();
    }
  });
});
