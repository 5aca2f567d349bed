import { errorCatalogue, failureReasons } from '@gatehouse/errors';
import { expect, test } from '@jest/globals';
import { pageErrors } from '../pages/error-page.ts';
import { reasonsOfCodes } from './reasons.ts';

test.each(Object.entries(reasonsOfCodes))(
  'The error code %s has a reason that can have it: %s.',
  (code, reason) => {
    expect(failureReasons[reason].codes).toContain(code);
  },
);

test.each(Object.entries(pageErrors))(
  'The error page %s has a reason of its own: %s.',
  (page, reason) => {
    const { codes } = failureReasons[reason];
    expect(reason in errorCatalogue || codes.includes(page)).toBe(true);
  },
);
