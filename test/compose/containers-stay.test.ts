/** Which containers and volumes commands keep. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createTier, docker, serviceOf, type Tier } from './tier.ts';

jest.setTimeout(300_000);

let tier: Tier;
beforeAll(async () => {
  tier = await createTier();
});
afterAll(() => tier.remove());

/** The ids of the containers that must stay, by service. */
async function identifiers() {
  const kept = (await tier.containers()).filter((each) => !/^(secrets|demo)/.test(serviceOf(each)));
  return Object.fromEntries(kept.map((each) => [serviceOf(each), each.Id]));
}

describe('after up --build', () => {
  test('up and run --rm demo recreate no container', async () => {
    await tier.compose('up', '--detach', '--wait', '--build');
    const before = await identifiers();
    expect(Object.keys(before)).toHaveLength(6);
    await tier.compose('up', '--detach', '--wait');
    expect(await identifiers()).toEqual(before);
    await tier.compose('run', '--rm', '-T', 'demo');
    expect(await identifiers()).toEqual(before);
  });

  test('a build of the same sources, with every profile, recreates no container', async () => {
    const before = await identifiers();
    await tier.compose('--profile', '*', 'build');
    await tier.compose('up', '--detach', '--wait');
    await tier.compose('run', '--rm', '-T', 'demo');
    expect(await identifiers()).toEqual(before);
  });
});

describe('down with every profile', () => {
  const left = async () => {
    const filter = ['--quiet', '--filter', `label=com.docker.compose.project=${tier.project}`];
    return {
      containers: await docker('ps', '--all', ...filter),
      networks: await docker('network', 'ls', ...filter),
      volumes: (await docker('volume', 'ls', ...filter)).split('\n').filter(Boolean).length,
    };
  };

  test('keeps the volumes and nothing else', async () => {
    await tier.compose('up', '--detach', '--wait', 'demo-application');
    await tier.compose('--profile', '*', 'down');
    const { volumes, ...rest } = await left();
    expect([rest, volumes > 0]).toEqual([{ containers: '', networks: '' }, true]);
  });

  test('keeps nothing with --volumes', async () => {
    await tier.compose('up', '--detach', '--wait', 'demo-application');
    await tier.compose('--profile', '*', 'down', '--volumes');
    expect(await left()).toEqual({ containers: '', networks: '', volumes: 0 });
  });
});
