import type { ApiError } from '@gatehouse/errors';
import { explainedFailure } from './explained-failure.ts';

const names = {
  'x-client-id': 'X-Client-Id',
  'x-timestamp': 'X-Timestamp',
  'x-nonce': 'X-Nonce',
  'x-sign': 'X-Sign',
  'x-sign-v2': 'X-Sign-V2',
} as const;

type Name = keyof typeof names;

const needed: Readonly<Record<1 | 2, readonly Name[]>> = {
  1: ['x-client-id', 'x-timestamp', 'x-sign'],
  2: ['x-client-id', 'x-timestamp', 'x-nonce', 'x-sign-v2'],
};

/** 401 that names the signature headers that a request lacks, and those that it has. */
export function missingSignature(
  version: 1 | 2,
  headers: Readonly<Record<Name, string | undefined>>,
  hasToken: boolean,
): ApiError {
  const missing = needed[version].filter((name) => !headers[name]).map((name) => names[name]);
  const present = (Object.keys(names) as Name[]).filter((name) => headers[name]);
  const has = present.map((name) => names[name]).join(', ') || 'none of them';
  const advice = hasToken ? ' To use the token of the request, remove these headers.' : '';
  return explainedFailure('missing_signature', {
    causes: ['missing_signature'],
    message: `Missing or empty: ${missing.join(', ')}. The request has: ${has}.${advice}`,
  });
}

/** 400 for a request whose signature two programs could read differently. */
export function signatureHeaderTwice(): ApiError {
  return explainedFailure('ambiguous_request', {
    causes: ['ambiguous_request'],
    message: 'A signature header was sent twice.',
  });
}
