import { type IllegalArgument, illegalArgument } from '@gatehouse/errors';
import { decodeOnce } from '../version-1-text.ts';

/**
 * The interpretation of a request target. Matching, signing and forwarding all use it. Otherwise a
 * caller might be authorized for one path and served another (as in GHSA-p224-6x5r-fjpm).
 */
export interface RequestTarget {
  /** Every segment decoded once and encoded again. */
  readonly path: string;
  /** The received path. It has only one interpretation, so its signature also covers `path`. */
  readonly sentPath: string;
  /** The decoded segments: `/a/b` has two. */
  readonly segments: readonly string[];
  /** The received query, without its `?`. */
  readonly query: string;
}

/** Visible ASCII without `#` and `\`, which Node accepts in spite of RFC 9112 §3.2. */
const PLAIN_TARGET = /^[\x21\x22\x24-\x5b\x5d-\x7e]+$/;

/** Encoded dots, slashes, backslashes and control characters: an upstream might decode them. */
const HIDDEN_IN_PATH = /%(?:2e|2f|5c|[01][0-9a-f]|7f)/i;

/** A path that needs no further check: no escape, no empty segment, none that begins with a dot. */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9_~!*'()-][A-Za-z0-9_.~!*'()-]*)+$/;

/** A path without an escape that encodeURIComponent would not change. */
const NORMAL_PATH = /^[A-Za-z0-9_.~!*'()/-]+$/;

const CONTROL = /\p{Cc}/u;
const ENCODED_CONTROL = /%(?:[01][0-9a-f]|7f)/i;

/** @throws ApiError `illegal_argument` if two servers might interpret the target differently */
export function parseRequestTarget(target: string): RequestTarget {
  if (!target.startsWith('/')) {
    throw refusal('must start with "/"');
  }
  if (!PLAIN_TARGET.test(target)) {
    throw refusal('has a character that must be percent-encoded');
  }
  const queryStart = target.indexOf('?');
  const sentPath = queryStart === -1 ? target : target.slice(0, queryStart);
  const query = queryStart === -1 ? '' : target.slice(queryStart + 1);
  if (PLAIN_PATH.test(sentPath)) {
    return { path: sentPath, sentPath, segments: sentPath.slice(1).split('/'), query };
  }
  if (HIDDEN_IN_PATH.test(sentPath)) {
    throw refusal('must not hide a dot, slash, backslash or control character');
  }
  const segments = readSegments(sentPath.slice(1).split('/'));
  const path = NORMAL_PATH.test(sentPath)
    ? sentPath
    : `/${segments.map(encodeURIComponent).join('/')}`;
  return { path, sentPath, segments, query };
}

/**
 * Checks escapes and control characters, which a signature of version 1 checks by its own rules.
 */
export function assertReadableQuery(query: string): void {
  if (query.includes('%') && (ENCODED_CONTROL.test(query) || decodeOnce(query) === undefined)) {
    throw illegalArgument(
      [{ property: 'query', message: 'is not valid percent-encoded text' }],
      'target_invalid',
    );
  }
}

function readSegments(raw: readonly string[]): readonly string[] {
  return raw.map((rawSegment, index) => {
    const segment = decodeOnce(rawSegment);
    if (segment === undefined || CONTROL.test(segment)) {
      throw refusal('is not valid percent-encoded text');
    }
    if (segment === '' && index < raw.length - 1) {
      throw refusal('must not have an empty segment');
    }
    // Some servers cut `..;x` at the semicolon before they resolve dot segments.
    const name = segment.split(';', 1)[0];
    if (name === '.' || name === '..') {
      throw refusal('must not have a "." or ".." segment');
    }
    return segment;
  });
}

function refusal(message: string) {
  const problem: IllegalArgument = { property: 'path', message };
  return illegalArgument([problem], 'target_invalid');
}
