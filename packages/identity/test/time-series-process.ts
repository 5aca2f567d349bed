/**
 * A process that adds to the time series of the tests:
 * `node time-series-process.ts <store URL> <app> <epoch milliseconds> <times> <client>`.
 */
import { createStore } from '@gatehouse/store';
import { createTimeSeries } from '../src/log/time-series.ts';

const [url = '', app = '', at = '', times = '', client = ''] = process.argv.slice(2);
const store = createStore(url);
const series = createTimeSeries({ store, now: () => Number(at) });
for (let added = 0; added < Number(times); added += 1) {
  await series.add(app, {
    outcomes: new Map([['success', 2]]),
    clients: new Map([[client, 2]]),
  });
}
await store.close();
