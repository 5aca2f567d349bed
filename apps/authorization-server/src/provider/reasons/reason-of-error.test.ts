import { failureReasons } from '@gatehouse/errors';
import { expect, test } from '@jest/globals';
import { oauthErrorCodes } from '../../metrics/oauth-error-codes.ts';
import { reasonOfCode } from './reason-of-error.ts';

test.each([...oauthErrorCodes, 'NoCodeError', 'NotFoundError', 'ExpiredError', 'AlreadyUsedError'])(
  'The error code %s has a reason that can have it.',
  (code) => {
    expect(failureReasons[reasonOfCode(code) ?? 'unclassified'].codes).toContain(code);
  },
);
