import { ApiError, illegalArgument } from '@gatehouse/errors';
import { z } from 'zod';

export interface LifetimeLimits {
  readonly defaultSeconds: number;
  readonly maximumSeconds: number;
}

const body = z.strictObject({
  // Not z.int(), which rejects numbers above 2^53. A number above the maximum becomes the maximum.
  expires: z
    .number('must be an integer number of seconds')
    .refine(Number.isInteger, 'must be an integer number of seconds')
    .optional(),
});

/** Excludes a second `expires` and one that is spelled with escapes. */
const PLAIN = /^\s*\{\s*(?:"expires"\s*:\s*[-+.0-9eE]+\s*)?\}\s*$/;

/**
 * Reads the lifetime of a token in seconds from `{"expires": seconds}` or `{}`. If it ignored other
 * members, an attacker could send a signed reply of the gateway back as a request (CWE-301).
 *
 * @throws ApiError `illegal_argument`
 */
export function readLifetime(text: string, limits: LifetimeLimits): number {
  const parsed = body.safeParse(parseJson(text));
  if (!parsed.success) {
    throw illegalArgument(
      parsed.error.issues.map(({ path, message }) => ({
        property: path.join('.') || 'body',
        message,
      })),
    );
  }
  if (!PLAIN.test(text)) {
    throw illegalArgument([
      { property: 'expires', message: 'must occur once and without escapes' },
    ]);
  }
  const asked = parsed.data.expires ?? limits.defaultSeconds;
  // Clients send 0 and -1 for "never", which means the maximum.
  return asked <= 0 ? limits.maximumSeconds : Math.min(asked, limits.maximumSeconds);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError('illegal_argument', {
      message: 'The body is not JSON.',
      cause,
    });
  }
}
