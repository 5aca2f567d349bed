import {
  assertNotReplyEnvelope,
  findSigningKey,
  nodeDigest,
  type SignatureAlgorithm,
  type SignatureInput,
  sign,
} from '@gatehouse/signing';
import { sent } from '../http/header-names.ts';
import { readSignedText } from './read-signed-text.ts';
import type { SignatureScheme } from './signature-scheme.ts';

/** Version 1, `X-Sign`: a digest over the query or the body, by the algorithm of the client. */
export function createSignatureVersion1(dependencies: {
  /** Rejects MD5 and repeated signatures. */
  readonly strict: boolean;
  readonly decoyKeys: readonly string[];
}): SignatureScheme {
  const { strict, decoyKeys } = dependencies;
  return {
    algorithmOf({ signatureAlgorithm }) {
      const isAccepted =
        signatureAlgorithm === 'SHA-256' || (signatureAlgorithm === 'MD5' && !strict);
      return isAccepted ? signatureAlgorithm : undefined;
    },
    async read(request, { sign: signature, timestamp }, held) {
      const { part, signedText, query, body, received } = await readSignedText(request, held);
      return {
        query,
        body,
        input: { signedAs: part, signed: signedText },
        received,
        repeatable: part === 'query' && !strict,
        nonce: undefined,
        findKey(secureKeys, client) {
          const algorithm = digestOf(client?.signatureAlgorithm);
          const input: SignatureInput = { algorithm, signedText, timestamp };
          const secureKey = findSigningKey(input, signature, secureKeys, nodeDigest);
          if (secureKey === undefined) {
            // A failure computes both digests, so that its time does not reveal the client's
            // algorithm.
            const other = { ...input, algorithm: otherThan(algorithm) };
            findSigningKey(other, '', decoyKeys, nodeDigest);
          }
          return secureKey;
        },
        assertNotReplyEnvelope: () => assertNotReplyEnvelope(signedText),
        createSigner: ({ clientId, signatureAlgorithm }, secureKey) => ({
          clientId,
          header: sent.signature1,
          sign({ body: replied, timestamp: repliedAt }) {
            // An attacker could send it back as a request that signs an empty text (CWE-301).
            if (replied.length === 0) {
              return undefined;
            }
            const algorithm = digestOf(signatureAlgorithm);
            const input = { algorithm, signedText: replied, timestamp: repliedAt };
            return sign(input, secureKey, nodeDigest);
          },
        }),
      };
    },
  };
}

function digestOf(algorithm: string | undefined): SignatureAlgorithm {
  return algorithm === 'MD5' ? 'MD5' : 'SHA-256';
}

function otherThan(algorithm: SignatureAlgorithm): SignatureAlgorithm {
  return algorithm === 'MD5' ? 'SHA-256' : 'MD5';
}
