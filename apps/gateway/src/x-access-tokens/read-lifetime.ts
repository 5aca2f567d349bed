import { ApiError, illegalArgument } from '@gatehouse/api-envelope';
import { z } from 'zod';

export interface LifetimeLimits {
  readonly defaultSeconds: number;
  readonly maximumSeconds: number;
}

const body = z.strictObject({
  // Not z.int(): it ends at 2^53, and more than the maximum is the maximum, however much it is.
  expires: z
    .number('must be an integer number of seconds')
    .refine(Number.isInteger, 'must be an integer number of seconds')
    .optional(),
});

/** The only texts that can hold nothing else: no second `expires`, none that is spelled with escapes. */
const PLAIN = /^\s*\{\s*(?:"expires"\s*:\s*[-+.0-9eE]+\s*)?\}\s*$/;

/**
 * Seconds that the token will live. Exactly `{"expires": seconds}` or `{}`: were other members ignored, a
 * signed reply of ours could be sent back as a request (CWE-301).
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
    throw illegalArgument([{ property: 'expires', message: 'must be there once, plainly' }]);
  }
  const asked = parsed.data.expires ?? limits.defaultSeconds;
  // In the wild 0 and -1 mean "never": that is the maximum.
  return asked <= 0 ? limits.maximumSeconds : Math.min(asked, limits.maximumSeconds);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError('illegal_argument', { message: 'The body is not JSON.', cause });
  }
}
