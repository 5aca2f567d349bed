import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { send } from './http-client.ts';
import { useSignedCalls } from './signed-calls.ts';

interface Vector {
  readonly name: string;
  readonly digest: 'MD5' | 'SHA-256';
  readonly kind: 'query' | 'body' | 'response';
  readonly query?: string;
  readonly body?: string;
  readonly timestamp: string;
  readonly secureKey: string;
  readonly signature: string;
}

const vectors: readonly Vector[] = JSON.parse(
  readFileSync(
    new URL('../../../packages/request-signature/vectors/signature-vectors.json', import.meta.url),
    'utf8',
  ),
);

const calls = useSignedCalls();

describe('the known-answer vectors', () => {
  test.each(vectors.filter(({ kind }) => kind !== 'response'))(
    'SG-01 are accepted: $name',
    async (vector) => {
      const later = calls.now;
      calls.now = Number(vector.timestamp);
      const clientId = `vector-${vector.secureKey}-${vector.digest}`;
      await calls.booted.savePublishedClient(
        { clientId, signatureAlgorithm: vector.digest },
        vector.secureKey,
      );

      const reply = await send(
        calls.booted.port,
        vector.kind === 'body' ? '/device-instance' : `/api/device?${vector.query}`,
        {
          method: vector.kind === 'body' ? 'POST' : 'GET',
          headers: {
            'Content-Type': 'application/json',
            'X-Client-Id': clientId,
            'X-Timestamp': vector.timestamp,
            'X-Sign': vector.signature,
          },
          ...(vector.body === undefined ? {} : { body: vector.body }),
        },
      );

      expect(reply.status).toBe(200);
      expect(calls.booted.upstream.last().body.toString()).toBe(vector.body ?? '');
      calls.now = later;
    },
  );
});
