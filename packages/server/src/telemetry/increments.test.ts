import { expect, test } from '@jest/globals';
import { createRequestMetrics } from '../requests/request-records.ts';
import { createIncrements } from './increments.ts';
import type { RequestLine } from './logger.ts';
import { createMetricsRegistry } from './metrics-registry.ts';

function open() {
  const registry = createMetricsRegistry();
  const requested = createRequestMetrics(registry, {
    operations: ['list'],
    credentials: ['bearer'],
    codes: ['unauthorized'],
  });
  const tokens = registry.counter({
    name: 'gatehouse_tokens_issued_total',
    help: 'T.',
    labels: { grant: ['password', 'implicit'] },
  });
  const increments = createIncrements(registry, {
    metric: 'gatehouse_requests_total',
    labels: ['credential', 'outcome'],
  });
  const request = (line: Partial<RequestLine>) => {
    const full = { operation: 'list', status: 200, aborted: false, durationMs: 3, ...line };
    requested(full as RequestLine);
    increments.observe(full as RequestLine);
  };
  return { registry, tokens, increments, request };
}

const refused = { status: 401, code: 'unauthorized', reason: 'access_token_is_jwt' } as const;

test('an increment is what the metrics counted since the last one', () => {
  const { tokens, increments, request } = open();
  request({ credential: 'bearer', clientId: 'one' });
  request({ credential: 'bearer', clientId: 'one', durationMs: 30 });
  request({ ...refused, clientId: 'two' });
  tokens.of('password').value += 3;
  expect(increments.take()).toEqual({
    outcomes: new Map([
      ['success', 2],
      ['refused', 1],
    ]),
    durations: new Map([
      ['0.005', 2],
      ['0.01', 2],
      ['0.025', 2],
      ['0.1', 3],
      ['0.5', 3],
      ['2.5', 3],
      ['10', 3],
      ['+Inf', 3],
    ]),
    tokens: new Map([['password', 3]]),
    verifications: new Map([['bearer success', 2]]),
    clients: new Map([['one', 2]]),
    failingClients: new Map([['two', 1]]),
    reasons: new Map([['access_token_is_jwt', 1]]),
  });
  request({ credential: 'bearer', clientId: 'one' });
  const second = increments.take();
  expect(second.outcomes).toEqual(new Map([['success', 1]]));
  expect(second.durations.get('+Inf')).toBe(1);
  expect(second.clients).toEqual(new Map([['one', 1]]));
  const nothing = Object.values(increments.take()).flatMap((group) => [...group.values()]);
  expect(nothing.filter((count) => count !== 0)).toEqual([]);
});

test('the clients of a period are bounded, and failures leave the room of the others', () => {
  const { increments, request } = open();
  for (let number = 0; number < 3000; number += 1) {
    request({ ...refused, clientId: `guessed-${number}` });
    request({ clientId: 'busy' });
  }
  const { clients, failingClients } = increments.take();
  expect(failingClients.size).toBe(1024);
  expect(clients).toEqual(new Map([['busy', 3000]]));
});

test('reading increments reads no other metric', () => {
  const { registry, increments } = open();
  registry.collect({
    name: 'gatehouse_other',
    help: 'O.',
    read: () => {
      throw new Error('It was read.');
    },
  });
  expect(increments.take().tokens.size).toBe(0);
});
