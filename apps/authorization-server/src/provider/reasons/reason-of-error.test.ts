import { errorCatalogue, failureReasons } from '@gatehouse/errors';
import { expect, test } from '@jest/globals';
import { oauthErrorCodes } from '../../metrics/oauth-error-codes.ts';
import { pageErrors } from '../../pages/page-errors.ts';
import { reasonOfCode } from './reason-of-error.ts';

test.each([...oauthErrorCodes, 'NoCodeError', 'NotFoundError', 'ExpiredError', 'AlreadyUsedError'])(
  'The error code %s has a reason that can have it.',
  (code) => {
    expect(failureReasons[reasonOfCode(code) ?? 'unclassified'].codes).toContain(code);
  },
);

test.each(Object.entries(pageErrors))(
  'The error page %s has a reason of its own: %s.',
  (page, reason) => {
    const { codes } = failureReasons[reason];
    expect(reason in errorCatalogue || codes.includes(page)).toBe(true);
  },
);
