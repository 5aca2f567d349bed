import { errorCatalogue, failureReasons } from '@gatehouse/errors';
import { expect, test } from '@jest/globals';
import { pageErrors } from '../pages/error-page.ts';
import { oauthErrorCodes } from '../requests/metrics.ts';
import { reasonOfCode } from './reasons.ts';

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
