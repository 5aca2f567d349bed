import { illegalArgument } from '@gatehouse/errors';
import {
  assertReadableQuery,
  findLinesKey,
  isNonce,
  nodeDigest,
  nodeHmac,
  replyLines,
  requestLines,
  signLines,
} from '@gatehouse/signing';
import { received, sent } from '../http/header-names.ts';
import { hasBody } from '../http/request-body.ts';
import { readSignedBody } from './read-signed-body.ts';
import type { SignatureScheme } from './signature-scheme.ts';

/**
 * Version 2, `X-Sign-V2`: an HMAC over every part of the request that the upstream interprets.
 * Every client may use it, regardless of its algorithm in version 1.
 */
export const signatureVersion2: SignatureScheme = {
  algorithmOf: () => 'SHA-256',
  async read(
    { message, method, target, bodyLimitBytes },
    { clientId, timestamp, nonce = '', sign },
    held,
  ) {
    if (!isNonce(nonce)) {
      const rule = 'must be 16 to 64 characters from A-Z, a-z, 0-9, _ and -';
      throw illegalArgument([{ property: 'X-Nonce', message: rule }], 'nonce_malformed');
    }
    assertReadableQuery(target.query);
    const bytes = await readSignedBody(message, bodyLimitBytes, held);
    const lines = requestLines(
      {
        method,
        path: target.sentPath,
        query: target.query,
        contentType: message.headers[received.contentType] ?? '',
        body: bytes,
        clientId,
        timestamp,
        nonce,
      },
      nodeDigest,
    );
    return {
      query: target.query,
      body: hasBody(message) ? { bytes, contentType: undefined } : undefined,
      input: { signedAs: 'lines', signed: lines },
      received: bytes,
      repeatable: false,
      nonce,
      findKey: (secureKeys) => findLinesKey(lines, sign, secureKeys, nodeHmac),
      // The first signed line distinguishes replies from requests.
      assertNotReplyEnvelope: () => undefined,
      createSigner: (client, secureKey) => ({
        clientId: client.clientId,
        header: sent.signature2,
        sign: (reply) =>
          signLines(replyLines({ ...reply, nonce }, nodeDigest), secureKey, nodeHmac),
      }),
    };
  },
};
