import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ApiError } from '@gatehouse/errors';
import { createLogger, observeRequests } from '@gatehouse/server';
import { parseRequestTarget } from '@gatehouse/signing';
import { describe, expect, test } from '@jest/globals';
import type { VerifiedRequest } from '../authentication/authenticator.ts';
import type { RequestLimits } from '../rate-limits/request-limits.ts';
import {
  type AdmissionDependencies,
  admit,
  countFailure,
  createRequestState,
  type RequestState,
} from './admit.ts';

const message = { headers: {}, socket: { remoteAddress: '192.0.2.1' } } as IncomingMessage;
const newState = () => createRequestState(message, {}, () => false);

/** Counts the failure, and returns its result and the counted requests. */
async function count(error: ApiError, state: RequestState, overLimit?: Error) {
  const counted: unknown[] = [];
  const limits = {
    async countAddress(address: string, hasCredential: boolean) {
      counted.push([address, hasCredential]);
      if (overLimit !== undefined) {
        throw overLimit;
      }
    },
  } as unknown as RequestLimits;
  return { result: await countFailure(error, state, limits), counted };
}

describe('a failed request', () => {
  const failure = new ApiError('illegal_argument');

  test('counts for its address, without a credential until one was read', async () => {
    const state = newState();
    const { result, counted } = await count(failure, state);
    expect([result, counted]).toEqual([failure, [['192.0.2.1', false]]]);
    state.hasCredential = true;
    expect((await count(failure, state)).counted).toEqual([['192.0.2.1', true]]);
  });

  test.each(['internal_server_error', 'service_unavailable', 'too_many_requests'] as const)(
    'does not count if the error is %s',
    async (code) => {
      expect((await count(new ApiError(code), newState())).counted).toEqual([]);
    },
  );

  test('does not count for its address if it was verified', async () => {
    const state = newState();
    state.verified = {} as VerifiedRequest;
    expect((await count(failure, state)).counted).toEqual([]);
  });

  test('gets 429 if its address is over the limit, and 500 if counting fails', async () => {
    const overLimit = new ApiError('too_many_requests');
    expect((await count(failure, newState(), overLimit)).result).toBe(overLimit);
    const defect = new Error('a defect');
    await expect(count(failure, newState(), defect)).rejects.toBe(defect);
  });
});

test('A verified request is rejected if its client is over the limit.', async () => {
  const request = new IncomingMessage(new Socket());
  const logger = createLogger({ app: 'test', level: 'silent', pretty: false });
  observeRequests(() => undefined, logger)(request, new ServerResponse(request));
  const overLimit = new ApiError('too_many_requests');
  const dependencies = {
    authenticators: [{ authenticate: async () => ({ principal: { clientId: 'demo' } }) }],
    limits: {
      assertAddressOpen: () => undefined,
      async countClient() {
        throw overLimit;
      },
    },
  } as unknown as AdmissionDependencies;
  const state = createRequestState(request, {}, () => false);
  const asked = { method: 'GET', target: parseRequestTarget('/'), match: undefined };
  const admitted = admit(state, asked, dependencies);
  await expect(admitted).rejects.toBe(overLimit);
});
