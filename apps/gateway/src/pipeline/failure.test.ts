import { ApiError, type ErrorCode } from '@gatehouse/errors';
import type { RequestNotes } from '@gatehouse/server';
import { StoreUnavailableError } from '@gatehouse/store';
import { describe, expect, test } from '@jest/globals';
import type { VerifiedRequest } from '../authentication/verified-request.ts';
import { CircuitOpenError } from '../upstream/circuit-breaker.ts';
import type { Exchange, Pipeline } from './exchange.ts';
import { challengedHeaders, countFailure, noteFailure, toFailure } from './failure.ts';

const METADATA_URL = 'https://api.example/.well-known/oauth-protected-resource';
const metadata = `resource_metadata="${METADATA_URL}"`;

function challengeOf(code: ErrorCode, given?: string): string | undefined {
  const headers = given === undefined ? {} : { 'WWW-Authenticate': given };
  return challengedHeaders(new ApiError(code, { headers }), METADATA_URL)['WWW-Authenticate'];
}

describe('the challenge of an error', () => {
  const plain = `Bearer realm="gatehouse", ${metadata}`;
  const invalid = `Bearer realm="gatehouse", error="invalid_request", ${metadata}`;

  test.each<[ErrorCode, string | undefined, string | undefined]>([
    ['unauthorized', undefined, plain],
    ['access_denied', undefined, plain],
    ['invalid_signature', undefined, plain],
    ['multiple_credentials', undefined, invalid],
    ['unauthorized', 'Bearer error="invalid_token"', `Bearer error="invalid_token", ${metadata}`],
    ['not_found', 'Bearer x="y"', `Bearer x="y", ${metadata}`],
    ['not_found', undefined, undefined],
    ['illegal_argument', undefined, undefined],
    ['service_unavailable', undefined, undefined],
  ])('with the code %s and the challenge %s is %s', (code, given, expected) => {
    expect(challengeOf(code, given)).toBe(expected);
  });

  test('keeps the other headers', () => {
    const error = new ApiError('unauthorized', { headers: { 'Retry-After': '1' } });
    expect(challengedHeaders(error, METADATA_URL)['Retry-After']).toBe('1');
  });
});

describe('the notes of a failure', () => {
  const cause = new Error('the cause');
  const failed = new ApiError('internal_server_error', { cause });
  const notesOf = (error: ApiError, hasCallerLeft = false, notes: RequestNotes = {}) => {
    noteFailure(error, notes, hasCallerLeft);
    return notes;
  };

  test('contain the cause of an error of the gateway', () => {
    const noted = { code: 'internal_server_error', reason: 'unexpected_error', err: cause };
    expect(notesOf(failed)).toMatchObject(noted);
    const withoutCause = new ApiError('internal_server_error');
    expect(notesOf(withoutCause).err).toBe(withoutCause);
  });

  test.each([
    ['the caller has left', failed, true, 'caller_left'],
    ['a request is wrong', new ApiError('not_found', { cause }), true, 'not_found'],
    [
      'an open circuit rejects it',
      new ApiError('service_unavailable', { cause: new CircuitOpenError() }),
      false,
      'service_unavailable',
    ],
  ])('contain no error if %s', (_why, error, hasCallerLeft, reason) => {
    const { err, reason: noted } = notesOf(error, hasCallerLeft);
    expect([err, noted]).toEqual([undefined, reason]);
  });

  test('contain what was found in the request', () => {
    const error = new ApiError('not_found', { finding: 'a finding' });
    expect(notesOf(error).finding).toBe('a finding');
  });

  test('name the client that the request names, unless another one is verified', () => {
    const error = new ApiError('invalid_signature', { clientId: 'named' });
    expect(notesOf(error).clientId).toBe('named');
    expect(notesOf(error, false, { clientId: 'verified' }).clientId).toBe('verified');
    expect(notesOf(failed, false, { clientId: 'verified' }).clientId).toBe('verified');
  });
});

test('An unavailable store is 503 with its own reason.', () => {
  const error = toFailure(new StoreUnavailableError('get', undefined));
  expect([error.status, error.reason]).toEqual([503, 'store_unavailable']);
});

const exchange = {
  clientAddress: '192.0.2.1',
  credential: { kind: 'none', query: '' },
  browserToken: undefined,
  appliedLimits: [],
  verified: undefined,
} as unknown as Exchange;

/** Counts the failure, and returns the counted requests. */
async function count(error: ApiError, changes: Partial<Exchange> = {}, overLimit?: Error) {
  const counted: unknown[] = [];
  const limits: Pick<Pipeline['limits'], 'countAddress'> = {
    async countAddress(address, hasCredential) {
      counted.push([address, hasCredential]);
      if (overLimit !== undefined) {
        throw overLimit;
      }
    },
  };
  await countFailure(error, { ...exchange, ...changes }, limits);
  return counted;
}

describe('a failed request', () => {
  const failure = new ApiError('illegal_argument');

  test('counts for its address, without a credential until one was read', async () => {
    expect(await count(failure)).toEqual([['192.0.2.1', false]]);
    const credential = { kind: 'access-token', value: 'x', query: '' } as const;
    expect(await count(failure, { credential })).toEqual([['192.0.2.1', true]]);
  });

  test.each(['internal_server_error', 'service_unavailable', 'too_many_requests'] as const)(
    'does not count if the error is %s',
    async (code) => {
      expect(await count(new ApiError(code))).toEqual([]);
    },
  );

  test('does not count for its address if it was verified', async () => {
    expect(await count(failure, { verified: {} as VerifiedRequest })).toEqual([]);
  });

  test('fails with the error of the count, such as 429 for an address over its limit', async () => {
    const overLimit = new ApiError('too_many_requests');
    await expect(count(failure, {}, overLimit)).rejects.toBe(overLimit);
  });
});
