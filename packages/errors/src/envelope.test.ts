import { describe, expect, test } from '@jest/globals';
import {
  ApiError,
  errorCatalogue,
  failureEnvelope,
  illegalArgument,
  serviceUnavailable,
  successEnvelope,
  toApiError,
} from './index.ts';

describe('the success envelope', () => {
  test('contains exactly the specified members in a fixed order', () => {
    expect(JSON.stringify(successEnvelope(['a'], 1_700_000_000_000))).toBe(
      '{"status":200,"code":"success","message":"success","result":["a"],"timestamp":1700000000000}',
    );
  });

  test.each([[undefined], [null]])('omits the result if it is %s', (result) => {
    expect(Object.keys(successEnvelope(result, 1))).toEqual([
      'status',
      'code',
      'message',
      'timestamp',
    ]);
  });
});

describe('the failure envelope', () => {
  test('contains the status, code and message of the catalogue, but no result', () => {
    const envelope = failureEnvelope(new ApiError('not_found'), 5);
    expect(envelope).toEqual({
      status: 404,
      code: 'not_found',
      message: errorCatalogue.not_found.message,
      timestamp: 5,
    });
    expect(Object.hasOwn(envelope, 'result')).toBe(false);
  });

  test('never contains the cause, the stack or the headers', () => {
    const error = new ApiError('bad_gateway', {
      cause: new Error('marker-in-cause'),
      headers: { 'X-Marker': 'marker-in-header' },
    });
    expect(JSON.stringify(failureEnvelope(error, 5))).not.toMatch(/marker|stack/);
  });
});

describe('toApiError', () => {
  test.each([[new Error('marker')], ['marker'], [undefined], [null], [{ status: 200 }]])(
    'makes %p an internal error that does not quote it',
    (thrown) => {
      const error = toApiError(thrown);
      expect(error.status).toBe(500);
      expect(error.cause).toBe(thrown);
      expect(JSON.stringify(failureEnvelope(error, 5))).not.toContain('marker');
    },
  );
});

test('illegalArgument names every invalid member', () => {
  const error = illegalArgument([
    { property: 'id', message: 'is too long' },
    { property: 'name', message: 'must not be blank' },
  ]);
  expect(failureEnvelope(error, 5)).toMatchObject({
    status: 400,
    code: 'illegal_argument',
    message: 'id: is too long; name: must not be blank',
    result: [
      { property: 'id', message: 'is too long' },
      { property: 'name', message: 'must not be blank' },
    ],
  });
});

test('serviceUnavailable sets Retry-After and keeps the cause for the log', () => {
  const cause = new Error('marker');
  const error = serviceUnavailable(cause, 'store_unavailable', 3);
  expect(error.headers).toEqual({ 'Retry-After': '3' });
  expect(error.status).toBe(503);
  expect(error.cause).toBe(cause);
  expect(error.reason).toBe('store_unavailable');
});
