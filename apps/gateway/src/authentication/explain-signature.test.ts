import { describe, expect, test } from '@jest/globals';
import { createDiagnosisBudget, describeSignedInput } from './explain-signature.ts';

const limits = { windowMilliseconds: 1000, perClient: 2, perAddressGroup: 5, total: 8 };

function createBudget() {
  let now = 1_800_000_000_000;
  const mayDiagnose = createDiagnosisBudget(limits, () => now);
  return {
    take: (clientId: string, address: string, count: number) =>
      Array.from({ length: count }, () => mayDiagnose(clientId, address)),
    advance(milliseconds: number) {
      now += milliseconds;
    },
  };
}

describe('the budget of diagnoses', () => {
  test('limits each client id, known or not, within an address group', () => {
    const { take } = createBudget();
    expect(take('demo', '192.0.2.1', 3)).toEqual([true, true, false]);
    expect(take('nobody', '192.0.2.1', 3)).toEqual([true, true, false]);
  });

  test('of a client elsewhere does not change, so it does not reveal the client', () => {
    const { take } = createBudget();
    take('demo', '192.0.2.1', 10);
    expect(take('demo', '198.51.100.1', 2)).toEqual([true, true]);
  });

  test('limits an address group, whatever client ids it sends', () => {
    const { take } = createBudget();
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const taken = ids.flatMap((id, index) => take(id, `2001:db8:0:${index}::1`, 1));
    expect(taken).toEqual([true, true, true, true, true, false]);
  });

  test('of a group is not used up by rejected attempts with one id', () => {
    const { take } = createBudget();
    take('noisy', '192.0.2.1', 100);
    expect(take('demo', '192.0.2.1', 2)).toEqual([true, true]);
  });

  test('limits all callers together, and begins again after the window', () => {
    const { take, advance } = createBudget();
    const addresses = Array.from({ length: 12 }, (_, index) => `192.0.2.${index}`);
    const all = () => addresses.flatMap((address) => take('demo', address, 1)).filter(Boolean);
    expect(all()).toHaveLength(8);
    advance(1000);
    expect(all()).toHaveLength(8);
    // The clock can be set back.
    advance(-5000);
    expect(all()).toHaveLength(8);
  });
});
describe('the description of a signed text', () => {
  test('contains up to 1024 bytes', () => {
    const whole = 'a'.repeat(1024);
    expect(describeSignedInput({ signedAs: 'query', signed: whole })).toEqual({
      signedAs: 'query',
      expectedText: whole,
    });
    expect(describeSignedInput({ signedAs: 'query', signed: `${whole}b` })).toEqual({
      signedAs: 'query',
      expectedText: whole,
      isCut: true,
    });
  });

  test('never ends with a part of a character', () => {
    const { expectedText } = describeSignedInput({
      signedAs: 'form',
      signed: `a${'é'.repeat(1024)}`,
    }) as { expectedText: string };
    expect(expectedText).toBe(`a${'é'.repeat(511)}`);
  });

  test('contains up to 160 bytes of each line, if all lines together have more than 1024', () => {
    const lines = ['GET', 'b'.repeat(160), 'c'.repeat(161), 'd'.repeat(1024)];
    expect(describeSignedInput({ signedAs: 'lines', signed: lines.join('\n') })).toEqual({
      signedAs: 'lines',
      expectedLines: ['GET', 'b'.repeat(160), 'c'.repeat(160), 'd'.repeat(160)],
      isCut: true,
    });
    const long = ['GET', 'e'.repeat(500)];
    expect(describeSignedInput({ signedAs: 'lines', signed: long.join('\n') })).toEqual({
      signedAs: 'lines',
      expectedLines: long,
    });
  });
});
