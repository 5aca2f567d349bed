import { durationQuantile } from '@gatehouse/identity';
import { until } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { bootSuiteGateway, openGateway } from './suite-gateway.ts';

const gateway = await bootSuiteGateway();

/** Requests are counted after the reply, before their log line. */
const untilCounted = ({ logLines }: Pick<typeof gateway, 'logLines'>, requests: number) =>
  until(() => logLines().filter(({ requestId }) => requestId).length >= requests);

/** The counts of this and the last hour, after the gateway has counted so many requests. */
async function countsAfter(requests: number) {
  await untilCounted(gateway, requests);
  await gateway.identity.timeSeries.add('gateway', gateway.increments.take());
  const now = Date.now();
  const range = { app: 'gateway', from: now - 3_600_000, to: now + 60_000, stepSeconds: 3600 };
  return (await gateway.identity.timeSeries.read(range)).total;
}

test('requests to the gateway appear in the time series', async () => {
  const headers = await gateway.bearer();
  for (let sent = 0; sent < 5; sent += 1) {
    expect((await gateway.send('/api/device', { headers })).status).toBe(200);
  }
  const wrong = { 'X-Timestamp': String(Date.now()), 'X-Sign': '0'.repeat(64) };
  const signed = { ...gateway.signed(), ...wrong };
  expect((await gateway.send('/api/device', { headers: signed })).status).toBe(401);
  const unknown = { Authorization: 'Bearer unknown' };
  expect((await gateway.send('/api/device', { headers: unknown })).status).toBe(401);
  const counts = await countsAfter(7);
  expect(counts.outcomes).toEqual(
    new Map([
      ['success', 5],
      ['refused', 2],
    ]),
  );
  expect(counts.verifications).toEqual(
    new Map([
      ['bearer accepted', 5],
      ['signature refused', 1],
      ['bearer refused', 1],
    ]),
  );
  expect(counts.clients).toEqual(new Map([['demo', 5]]));
  expect(counts.failingClients).toEqual(new Map([['demo', 1]]));
  expect([...counts.reasons.values()]).toEqual([1, 1]);
  expect(counts.durations.get('+Inf')).toBe(7);
  expect(durationQuantile(counts.durations, 0.99)).toBeGreaterThan(0);
  // What was counted once is not counted again.
  const again = await countsAfter(7);
  expect(again).toEqual(counts);
});

test('an id that no client has is not counted, so callers cannot fill the series', async () => {
  const { increments, send, signed, logLines } = await openGateway();
  for (const clientId of ['guessed-1', 'guessed-2']) {
    await send('/api/device', { headers: signed({ clientId }) });
  }
  await untilCounted({ logLines }, 2);
  const { outcomes, clients, failingClients } = increments.take();
  expect([...outcomes]).toEqual([['refused', 2]]);
  expect([...clients, ...failingClients]).toEqual([]);
});
