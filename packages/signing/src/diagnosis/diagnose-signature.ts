/**
 * Names the mistake behind a wrong signature: it computes what a signer with a known mistake would
 * have sent, and compares. mistaken-texts.ts lists wrong texts, and this file lists wrong ways to
 * combine a text with timestamp and key.
 *
 * The request alone determines the attempts and their order, and every key is tried with each. So a
 * verifier that fills missing keys with random ones spends the same work on every client. The size
 * of the tables and of the request bounds the work.
 */
import type { SigningReasonName } from '@gatehouse/errors';
import type { Digest, Hmac, SignatureAlgorithm } from '../signature.ts';
import { findMatchingKey } from '../signature.ts';
import { type RequestToSign, requestLines } from '../signed-lines.ts';
import { canonicalText, parseParameters, signedPart } from '../version-1-text.ts';
import { version1Texts, version2Texts } from './mistaken-texts.ts';

/** A request whose signature is wrong, exactly as it was sent. The nonce is empty if absent. */
export interface FailedRequest extends RequestToSign {
  readonly version: 1 | 2;
  /** The value of X-Sign or X-Sign-V2. */
  readonly signature: string;
  readonly body: Uint8Array;
}

export interface DiagnosisKeys {
  /** A verifier pads them, so that their number does not depend on the client. */
  readonly active: readonly string[];
  /** The digest of the client in version 1. Undefined: the client may use only version 2. */
  readonly algorithm: SignatureAlgorithm | undefined;
}

export interface DiagnosisDigests {
  readonly digest: Digest;
  readonly hmac: Hmac;
}

/** Computes a signature as a signer with these mistakes would. */
interface Attempt {
  readonly mistakes: readonly SigningReasonName[];
  readonly sign: (key: string) => string;
}

const MAXIMUM_REQUEST_BYTES = 4 * 1024;

/**
 * @returns the mistakes that together explain the signature, the first of them the most important.
 *   Undefined if no known mistake explains it, or the request is long
 */
export function diagnoseSignature(
  request: FailedRequest,
  { active, algorithm }: DiagnosisKeys,
  digests: DiagnosisDigests,
): readonly SigningReasonName[] | undefined {
  const { signature, version, path, query, contentType, body } = request;
  if (path.length + query.length + contentType.length + body.length > MAXIMUM_REQUEST_BYTES) {
    return undefined;
  }
  const used: SignatureAlgorithm = signature.length === 32 ? 'MD5' : 'SHA-256';
  const attempts =
    version === 1 ? version1Attempts(request, used, digests) : version2Attempts(request, digests);
  const found = attempts.find(({ sign }) => findMatchingKey(signature, active, sign) !== undefined);
  return found && (version === 1 ? withDigest(found.mistakes, used, algorithm) : found.mistakes);
}

/** Without a proven key, the result must not depend on the settings of the client. */
function withDigest(
  mistakes: readonly SigningReasonName[],
  used: SignatureAlgorithm,
  registered: SignatureAlgorithm | undefined,
): readonly SigningReasonName[] {
  const isKeyedDigest =
    !mistakes.includes('key_not_used') && !mistakes.includes('hmac_in_version_1');
  return isKeyedDigest && registered !== used
    ? [...mistakes, registered === undefined ? 'version_1_not_allowed' : 'wrong_digest']
    : mistakes;
}

/** The parts of a digest as a signer combines them. Those of an HMAC do not contain the key. */
type Recipe = readonly [
  mistakes: readonly SigningReasonName[],
  parts: (text: string, timestamp: string, key: string) => readonly string[],
  isHmac?: 'hmac',
];

const rightRecipe: Recipe = [[], (text, time, key) => [text, time, key]];

const recipes: readonly Recipe[] = [
  [['timestamp_not_signed'], (text, _time, key) => [text, key]],
  [['key_whitespace'], (text, time, key) => [text, time, key, '\n']],
  [['hmac_in_version_1'], (text, time) => [text, time], 'hmac'],
  [['timestamp_signed_in_seconds'], (text, time, key) => [text, time.slice(0, 10), key]],
  [['key_not_used'], (text, time) => [text, time]],
  [['parts_in_wrong_order'], (text, time, key) => [key, text, time]],
  [['parts_in_wrong_order'], (text, time, key) => [text, key, time]],
  [['parts_in_wrong_order'], (text, time, key) => [time, text, key]],
  [['parts_in_wrong_order'], (text, time, key) => [key, time, text]],
  [['parts_in_wrong_order'], (text, time, key) => [time, key, text]],
  [['hmac_in_version_1', 'timestamp_not_signed'], (text) => [text], 'hmac'],
  [['parts_in_wrong_order', 'timestamp_not_signed'], (text, _time, key) => [key, text]],
];

/** Attempts for X-Sign: one mistake first, then the most common wrong text in every wrong way. */
function version1Attempts(
  request: FailedRequest,
  algorithm: SignatureAlgorithm,
  { digest, hmac }: DiagnosisDigests,
): readonly Attempt[] {
  const { timestamp, nonce } = request;
  const right = textOfVersion1(request);
  if (right === undefined) {
    return [];
  }
  const attempt = (
    text: string,
    wrong: readonly SigningReasonName[],
    [mistakes, parts, isHmac]: Recipe,
  ): Attempt => ({
    mistakes: [...wrong, ...mistakes],
    sign: (key) =>
      isHmac === undefined
        ? digest(algorithm, parts(text, timestamp, key))
        : hmac(key, parts(text, timestamp, key).join('')),
  });
  const inEveryWay = (text: string, wrong: readonly SigningReasonName[]) =>
    recipes
      .filter(([mistakes]) => !(mistakes.includes('timestamp_not_signed') && couldBeCaptured(text)))
      .map((recipe) => attempt(text, wrong, recipe));
  const texts = version1Texts(request, right);
  const lines = nonce === '' ? [] : [requestLines(request, digest)];
  return [
    attempt(right, [], rightRecipe),
    ...texts.map(([text, ...wrong]) => attempt(text, wrong, rightRecipe)),
    ...inEveryWay(right, []),
    ...lines.map(
      (text): Attempt => ({ mistakes: ['hmac_in_version_1'], sign: (key) => hmac(key, text) }),
    ),
    ...texts.slice(0, 1).flatMap(([text, ...wrong]) => inEveryWay(text, wrong)),
  ];
}

/**
 * Whether a captured signature could cover the text: that of version 1 ends with a timestamp, and
 * that of version 2 has its own first line. With an attempt that needs no current timestamp, an
 * attacker could ask with such a signature at any later time whether the client and its key still
 * exist.
 */
function couldBeCaptured(text: string): boolean {
  return /[0-9]{13}$/.test(text) || text.startsWith('GATEHOUSE-V2');
}

/** Attempts for X-Sign-V2. */
function version2Attempts(
  request: FailedRequest,
  { digest, hmac }: DiagnosisDigests,
): readonly Attempt[] {
  const right = requestLines(request, digest);
  const textOf1 = textOfVersion1(request);
  const ofVersion1 = textOf1 === undefined ? [] : [textOf1 + request.timestamp];
  const wrongTexts = version2Texts(request, right.split('\n'), digest);
  return [
    ...wrongTexts.map(
      ([text, ...mistakes]): Attempt => ({ mistakes, sign: (key) => hmac(key, text) }),
    ),
    { mistakes: ['key_whitespace'], sign: (key) => hmac(`${key}\n`, right) },
    // The arguments of the HMAC are exchanged.
    { mistakes: ['parts_in_wrong_order'], sign: (key) => hmac(right, key) },
    ...[right, ...ofVersion1].map(
      (text): Attempt => ({
        mistakes: ['digest_in_version_2'],
        sign: (key) => digest('SHA-256', [text, key]),
      }),
    ),
    ...ofVersion1.map(
      (text): Attempt => ({ mistakes: ['digest_in_version_2'], sign: (key) => hmac(key, text) }),
    ),
  ];
}

/** Undefined if version 1 cannot sign the request. */
function textOfVersion1({ method, contentType, query, body }: FailedRequest): string | undefined {
  const part = signedPart(method, contentType);
  const sent = part === 'query' ? query : new TextDecoder().decode(body);
  if (part === undefined || part === 'body') {
    return part && sent;
  }
  try {
    return canonicalText(parseParameters(sent));
  } catch {
    return undefined;
  }
}

const HEX = /^[0-9a-f]+$/i;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Lengths without padding: 16, 20 and 32 bytes, and the hexadecimal digits of 16 and 32 bytes. */
const BASE64_LENGTHS: ReadonlySet<number> = new Set([22, 27, 43, 86]);
const SHA1_DIGITS = 40;

/**
 * Why a signature does not have the form of a digest, for the signer. Undefined if it has. Decides
 * by the header alone.
 */
export function malformedSignature(version: 1 | 2, signature: string): string | undefined {
  const { length } = signature;
  const isHex = HEX.test(signature);
  if (isHex && (length === 64 || (version === 1 && length === 32))) {
    return undefined;
  }
  const expected =
    version === 1 ? 'X-Sign is not 32 or 64 hex digits' : 'X-Sign-V2 is not 64 hex digits';
  if (isHex) {
    return `${expected}; it has ${length} digits${length === SHA1_DIGITS ? ', like SHA-1' : ''}.`;
  }
  const isBase64 =
    BASE64.test(signature) && BASE64_LENGTHS.has(signature.replace(/=+$/, '').length);
  return `${expected}; it ${isBase64 ? 'looks like Base64' : 'has other characters'}.`;
}
