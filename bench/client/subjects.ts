/** The calls that `run.ts` compares. All of them get the same list of devices. */
import { createHmac, hash } from 'node:crypto';
import { replyLines, requestLines } from '@gatehouse/signing/core';
import { createSignedFetch, createTokenFetch } from '../../packages/client/src/index.ts';
import type { Target } from './targets.ts';

export interface Subject {
  readonly name: string;
  /** The subject that exchanges the same bytes without the library. */
  readonly sameBytes: string;
  /** A gateway rejects it, because its signature is constant. */
  readonly hasConstantSignature?: boolean;
  call(): Promise<Response>;
}

const unsigned = 'bare `fetch`';
const bytesOfVersion2 = 'bare `fetch` with the bytes of version 2';
const bytesOfVersion1 = 'bare `fetch` with the bytes of version 1';

export function createSubjects(target: Target): readonly Subject[] {
  const { gateway, path, clientId, secureKey, token } = target;
  const url = gateway + path;
  const tokenHeaders = { Authorization: `Bearer ${token}` };
  const identity = { 'X-Client-Id': clientId, 'X-Timestamp': String(Date.now()) };
  const version1Headers = { ...identity, 'X-Sign': 'a'.repeat(64) };
  const version2Headers = {
    ...identity,
    'X-Nonce': crypto.randomUUID(),
    'X-Sign-V2': 'a'.repeat(64),
  };
  const credentials = { gateway, clientId, secureKey };
  const withToken = createTokenFetch({
    gateway,
    clientId,
    clientSecret: secureKey,
    tokenEndpoint: `${gateway}/token`,
    fetch: (input, init) =>
      init?.method === 'POST'
        ? Promise.resolve(Response.json({ access_token: token, expires_in: 7200 }))
        : fetch(input, init),
  });
  const version2 = createSignedFetch(credentials);
  const version1 = createSignedFetch({ ...credentials, version: 1 });
  return [
    { name: unsigned, sameBytes: unsigned, call: () => fetch(url, { headers: tokenHeaders }) },
    { name: '`createTokenFetch`', sameBytes: unsigned, call: () => withToken(path) },
    {
      name: bytesOfVersion2,
      sameBytes: bytesOfVersion2,
      hasConstantSignature: true,
      call: () => fetch(url, { headers: version2Headers }),
    },
    {
      name: '`createSignedFetch`, version 2',
      sameBytes: bytesOfVersion2,
      call: () => version2(path),
    },
    {
      name: bytesOfVersion1,
      sameBytes: bytesOfVersion1,
      hasConstantSignature: true,
      call: () => fetch(url, { headers: version1Headers }),
    },
    {
      name: '`createSignedFetch`, version 1',
      sameBytes: bytesOfVersion1,
      call: () => version1(path),
    },
    {
      name: 'version 2 by hand',
      sameBytes: bytesOfVersion2,
      call: () => callByHand(target),
    },
  ];
}

/** The least code that verifies a reply before its caller sees it. */
async function callByHand(target: Target): Promise<Response> {
  const { gateway, path, clientId, secureKey } = target;
  const [pathname = '', query = ''] = path.split('?');
  const nonce = crypto.randomUUID();
  const timestamp = String(Date.now());
  const request = { method: 'GET', path: pathname, query, contentType: '', body: '' };
  const signature = hmac(
    secureKey,
    requestLines({ ...request, clientId, timestamp, nonce }, sha256),
  );
  const reply = await fetch(gateway + path, {
    headers: {
      'X-Client-Id': clientId,
      'X-Timestamp': timestamp,
      'X-Nonce': nonce,
      'X-Sign-V2': signature,
    },
  });
  const body = new Uint8Array(await reply.arrayBuffer());
  const { status, statusText, headers } = reply;
  const repliedAt = headers.get('x-timestamp') ?? '';
  const expected = hmac(
    secureKey,
    replyLines({ status, nonce, body, timestamp: repliedAt }, sha256),
  );
  if (expected !== headers.get('x-sign-v2')) {
    throw new Error('The reply has a wrong signature.');
  }
  return new Response(body, { status, statusText, headers });
}

function sha256(_algorithm: string, [part = '']: readonly (string | Uint8Array)[]): string {
  return hash('sha256', part);
}

function hmac(secureKey: string, lines: string): string {
  return createHmac('sha256', secureKey).update(lines).digest('hex');
}
