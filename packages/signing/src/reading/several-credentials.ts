import { ApiError, failureReasons } from '@gatehouse/errors';
import { explanationOf } from './explanation-of.ts';

/** @param found the credentials of the request, by the names of their headers */
export function severalCredentials(found: string): ApiError {
  const reason = 'several_credentials';
  const { fix } = failureReasons[reason];
  return new ApiError('multiple_credentials', {
    message: `${found} ${fix}`,
    result: explanationOf(reason),
    reason,
  });
}
