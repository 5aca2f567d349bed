import { failureReasons } from '@gatehouse/errors';
import { describe, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

/** Without a store: the environment names none. */
const reasons = (...args: readonly string[]) => runGatehouse({}, ['reasons', ...args]);

describe('gatehouse reasons', () => {
  test('prints every reason with cause and fix', async () => {
    const { code, output } = await reasons();
    expect(code).toBe(0);
    for (const [name, { cause, fix }] of Object.entries(failureReasons)) {
      expect(output).toContain(`${name}\n  Stage: `);
      expect(output).toContain(`  ${cause}\n  Fix: ${fix}`);
    }
  });

  test('prints the reasons of an error code', async () => {
    const { json } = await reasons('invalid_signature', '--json');
    const names = json.reasons.map(({ reason }: { reason: string }) => reason);
    expect(names).toEqual(expect.arrayContaining(['invalid_signature', 'signature_malformed']));
    expect(names).not.toContain('not_found');
  });

  test('names similar reasons', async () => {
    const { code, errors } = await reasons('parameter_unsorted');
    expect(code).toBe(2);
    expect(errors).toContain('parameters_unsorted');
  });
});
