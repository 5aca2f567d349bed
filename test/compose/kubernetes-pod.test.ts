/**
 * The pods of deploy/kubernetes as the container engine runs them: the user, file modes, read-only
 * root, environment, probes, preStop and signals of the manifests, and no init process.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Manifest, podsOf, renderManifests } from '../kubernetes-manifests.ts';
import { root } from '../source-tree.ts';
import { createTier, docker, type Tier } from './tier.ts';

const run = promisify(execFile);
const manifests = renderManifests(join(root, 'deploy/kubernetes/small'));
const pods = new Map(podsOf(manifests).map((pod) => [pod.metadata.name, pod]));
const settings = manifests.find(({ kind }) => kind === 'ConfigMap') as unknown as {
  readonly data: object;
};
const bootstrap = {
  organizations: [{ id: 'acme', name: 'Acme' }],
  clients: [{ clientId: 'web', secureKey: 'Qx7Zw2Kp9TfR4mVs', name: 'Web', orgId: 'acme' }],
};

let tier: Tier;
const volume = (name: string) => `${tier.project}_pod-${name}`;

beforeAll(async () => {
  tier = await createTier();
  await tier.compose('up', '--detach', '--wait', '--no-build', 'redis');
  // As Kubernetes mounts a Secret with `fsGroup: 1000` and `defaultMode: 0440`.
  await asRoot(
    'store',
    'cp /from/store-url /from/master.key /to',
    `${tier.project}_secrets-store:/from:ro`,
  );
  await asRoot('bootstrap', `echo '${JSON.stringify(bootstrap)}' >/to/bootstrap.json`);
});
afterAll(async () => {
  const left = await docker('ps', '--all', '--quiet', '--filter', `name=${tier.project}-pod`);
  await docker('rm', '--force', ...left.split('\n').filter(Boolean)).catch(() => undefined);
  await tier.remove();
  await docker('volume', 'rm', '--force', volume('store'), volume('bootstrap'));
});

async function asRoot(name: string, command: string, ...mounts: readonly string[]): Promise<void> {
  const volumes = [`${volume(name)}:/to`, ...mounts].flatMap((mount) => ['--volume', mount]);
  const script = `${command} && chown -R 0:1000 /to && chmod 0750 /to && chmod 0440 /to/*`;
  const words = ['--user', '0:0', '--entrypoint', 'sh', ...volumes, 'gatehouse:test'];
  await docker('run', '--rm', ...words, '-euc', script);
}

/** The options of `docker run` that correspond to the pod of a manifest. */
function optionsOf({ metadata, spec }: Manifest) {
  const { securityContext: pod, containers } = spec.template.spec;
  const [{ securityContext: container, args, env, volumeMounts, resources }] = containers;
  expect(container.capabilities.drop).toEqual(['ALL']);
  const environment = {
    ...settings.data,
    // The overlay of an operator sets it.
    TRUSTED_PROXIES: '10.42.0.0/16',
    ...Object.fromEntries(
      env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    ),
  };
  return [
    ...['--name', `${tier.project}-pod-${metadata.name}`, '--network', `${tier.project}_store`],
    ...['--user', `${pod.runAsUser}:${pod.runAsGroup}`, '--cap-drop', 'ALL'],
    ...['--security-opt', 'no-new-privileges:true'],
    ...(container.readOnlyRootFilesystem ? ['--read-only'] : []),
    ...['--memory', resources.limits.memory.replace('Mi', 'm')],
    ...Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...volumeMounts.flatMap(({ name, mountPath }: { name: string; mountPath: string }) => [
      '--volume',
      `${volume(name)}:${mountPath}:ro`,
    ]),
    'gatehouse:test',
    ...args,
  ];
}

describe('the pod of the gateway', () => {
  const gateway = pods.get('gateway') as Manifest;
  const [container] = gateway.spec.template.spec.containers;
  let name: string;

  beforeAll(async () => {
    name = `${tier.project}-pod-gateway`;
    await docker('run', '--detach', ...optionsOf(gateway));
  });

  /** Sends the request of a probe to the address of the pod, as the kubelet does. */
  async function probe(kind: 'startupProbe' | 'livenessProbe' | 'readinessProbe') {
    const { path } = container[kind].httpGet;
    const script = `const { eth0 } = require('os').networkInterfaces();
      fetch('http://' + eth0[0].address + ':8944${path}').then((r) => console.log(r.status), () => console.log(0));`;
    return Number(await docker('exec', name, 'node', '-e', script));
  }

  test('starts on a public address with secret files of mode 0440, and passes its probes', async () => {
    await until(async () => expect(await probe('startupProbe')).toBe(200), 60);
    await until(async () => expect(await probe('readinessProbe')).toBe(200), 30);
    expect(await probe('livenessProbe')).toBe(200);
  });

  test('is alive but not ready while Redis does not answer', async () => {
    await tier.compose('pause', 'redis');
    try {
      await until(async () => expect(await probe('readinessProbe')).toBe(503), 30);
      expect(await probe('livenessProbe')).toBe(200);
    } finally {
      await tier.compose('unpause', 'redis');
    }
  });

  test('cannot change its files, and runs as process 1 without privileges', async () => {
    const script =
      'touch /app/x /tmp/x /secrets/store/x; grep -E "^(Uid|CapEff|NoNewPrivs)" /proc/1/status';
    const { stdout, stderr } = await run('docker', ['exec', name, 'sh', '-c', script]);
    expect(stderr.match(/Read-only file system/g)).toHaveLength(3);
    expect(stdout).toMatch(/^Uid:\t1000\t/m);
    expect(stdout).toMatch(/^CapEff:\t0+$/m);
    expect(stdout).toMatch(/^NoNewPrivs:\t1$/m);
  });

  test('runs its preStop command, and ends with 0 after a termination signal', async () => {
    const [program] = container.lifecycle.preStop.exec.command;
    await docker('exec', name, program, '0');
    await docker('stop', '--time', '15', name);
    const state = JSON.parse(await docker('inspect', '--format', '{{json .State}}', name));
    expect(state).toMatchObject({ ExitCode: 0, OOMKilled: false });
  });
});

test('the bootstrap job adds its clients, and a second run succeeds', async () => {
  const job = pods.get('bootstrap') as Manifest;
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const output = await docker('run', '--rm', ...optionsOf(job));
    expect(output).toContain('Applied 0 resources, 1 organizations, 1 clients and 0 users.');
  }
  expect(await tier.gatehouse('clients', 'show', 'web')).toMatchObject({
    client: { name: 'Web', orgId: 'acme' },
  });
});
