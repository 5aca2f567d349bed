import { createVersion1Signer, createVersion2Signer } from '@gatehouse/signing/core';
import { type ReplyVector, signatureVectors } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { platformDigests } from '../src/digests.ts';

function signatureVersionOf({ version, secureKey, digest: algorithm = 'SHA-256' }: ReplyVector) {
  const client = { clientId: 'machine-1', secureKey };
  return version === 1
    ? createVersion1Signer({ ...client, algorithm }, platformDigests())
    : createVersion2Signer(client, platformDigests());
}

async function isVerified(vector: ReplyVector): Promise<boolean> {
  const { version, requestTimestamp, nonce = '', status, timestamp, signature, body } = vector;
  const signed = await signatureVersionOf(vector).sign({
    path: '/api/device',
    query: '',
    method: 'GET',
    contentType: '',
    body: '',
    timestamp: Number(requestTimestamp),
    nonce,
  });
  const bytes = new Uint8Array(Buffer.from(body, 'base64'));
  const headers = new Headers();
  if (timestamp !== null) {
    headers.set('X-Timestamp', timestamp);
  }
  if (signature !== null) {
    headers.set(version === 1 ? 'X-Sign' : 'X-Sign-V2', signature);
  }
  return signed.isVerified({ status, headers, bytes });
}

describe('the client library', () => {
  const { replies } = signatureVectors;

  test.each(replies.filter(({ isValid }) => isValid))(
    'accepts the reply of version $version: $name',
    async (vector) => {
      expect(await isVerified(vector)).toBe(true);
    },
  );

  test.each(replies.filter(({ isValid }) => !isValid))(
    'rejects the reply of version $version: $name',
    async (vector) => {
      expect(await isVerified(vector)).toBe(false);
    },
  );
});
