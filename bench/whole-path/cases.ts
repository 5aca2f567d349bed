import { createHash } from 'node:crypto';
import type { BenchRequest } from '../machinery/request-file.ts';

/** Writes have their own organization, so that the lists stay equal. */
export type Organization = 'read' | 'written';

export const secureKeys: Readonly<Record<Organization, string>> = {
  read: 'readKey0123456789abcdef',
  written: 'writeKey0123456789abcdef',
};

export type Credential = 'bearer' | 'signed';

export interface Case {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly organization: Organization;
  /** `{n}` is a number that never repeats. */
  readonly body?: string;
}

export const LISTED_DEVICES = 20;
export const LOG_RECORDS = 20;

export const cases: readonly Case[] = [
  { name: 'list', method: 'GET', path: '/api/device', organization: 'read' },
  { name: 'detail', method: 'GET', path: '/api/v1/device/d-1/_detail', organization: 'read' },
  { name: 'log', method: 'GET', path: '/api/v1/device/d-1/log/_query', organization: 'read' },
  {
    name: 'query',
    method: 'POST',
    path: '/device/instance/_query',
    organization: 'read',
    body: '{"where":"state = notActive and name like Device%","pageSize":10,"total":20,"n":{n}}',
  },
  {
    name: 'create',
    method: 'POST',
    path: '/device-instance',
    organization: 'written',
    body: '{"id":"c-{n}","name":"Created","productId":"p","productName":"Product"}',
  },
  {
    name: 'report',
    method: 'POST',
    path: '/api/v1/device/d-1/log',
    organization: 'written',
    body: '{"type":"reportProperty","content":"{\\"temperature\\":21.5,\\"n\\":{n}}"}',
  },
];

/** Whether the same request can be sent again and again. */
export function isConstant({ body }: Case, credential: Credential): boolean {
  return body === undefined && credential === 'bearer';
}

let lastNumber = 0;

/** Each signed request has another signature, and each create another device. */
export function createRequest(
  { method, path, organization, body: template }: Case,
  credential: Credential,
  tokens: Readonly<Record<Organization, string>>,
): BenchRequest {
  lastNumber += 1;
  const body = template?.replace('{n}', String(lastNumber));
  if (credential === 'bearer') {
    const headers = { Authorization: `Bearer ${tokens[organization]}` };
    return { method, path, headers, ...(body !== undefined && { body }) };
  }
  // The service ignores this parameter.
  const query = `n=${lastNumber}`;
  const signed = body ?? query;
  const timestamp = String(Date.now());
  const digest = createHash('sha256').update(`${signed}${timestamp}${secureKeys[organization]}`);
  return {
    method,
    path: body === undefined ? `${path}?${query}` : path,
    headers: {
      'X-Client-Id': organization,
      'X-Timestamp': timestamp,
      'X-Sign': digest.digest('hex'),
    },
    ...(body !== undefined && { body }),
  };
}
