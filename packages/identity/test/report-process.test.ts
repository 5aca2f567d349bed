import { expect, test } from '@jest/globals';
import { openIdentity as connect, reportProcess } from '../src/index.ts';
import { describeOnEngines } from './engines.ts';

const described = { version: '1.0.0', ready: true, checks: {}, settings: [] };

/** Reports of a process that counts what the test adds. */
function sourceOf(app: string) {
  const results: string[] = [];
  const counts = new Map<string, number>();
  return {
    results,
    counts,
    source: {
      app,
      take: () => {
        const taken = new Map(counts);
        counts.clear();
        return { outcomes: taken };
      },
      describe: async () => described,
      countWrite: (result: string) => results.push(result),
    },
  };
}

describeOnEngines('reports of a process', ({ masterKey, openIdentity, openStore }) => {
  test('the process is listed until it closes, which adds its last increments', async () => {
    const identity = openIdentity();
    const { source, results, counts } = sourceOf('closing');
    const from = Date.now();
    const reporting = reportProcess(identity, source);
    counts.set('success', 3);
    await reporting.close();
    expect(results).toEqual(['stored']);
    const range = { app: 'closing', from, to: Date.now() + 1, stepSeconds: 60 };
    const { total } = await openIdentity().timeSeries.read(range);
    expect(total.outcomes).toEqual(new Map([['success', 3]]));
    expect(await identity.processes.read()).toEqual([]);
  });

  test('a process that an operator asked for it reloads, and then reports', async () => {
    const identity = openIdentity();
    await identity.processes.requestReload();
    const steps: string[] = [];
    const { source } = sourceOf('reloading');
    await reportProcess(identity, {
      ...source,
      reload: async () => void steps.push('reload'),
      describe: async () => {
        steps.push('describe');
        return described;
      },
    }).close();
    expect(steps).toEqual(['reload', 'describe']);
  });

  test('a process without requests writes no cells', async () => {
    const { source, results } = sourceOf('idle');
    await reportProcess(openIdentity(), source).close();
    expect(results).toEqual([]);
  });

  test('a failed check of the process does not stop its increments', async () => {
    const { source, results, counts } = sourceOf('unsure');
    counts.set('success', 1);
    const describe = () => Promise.reject(new Error('unknown'));
    await reportProcess(openIdentity(), { ...source, describe }).close();
    expect(results).toEqual(['stored']);
  });

  test('without the store, increments are lost and counted, and nothing fails', async () => {
    const store = openStore();
    await store.close();
    const { source, results, counts } = sourceOf('gateway');
    counts.set('success', 1);
    const reporting = reportProcess(connect({ store, masterKey }), source);
    counts.set('success', 2);
    await reporting.close();
    expect(results).toEqual(['lost', 'lost']);
  });
});
