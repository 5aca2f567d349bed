import { expect, test } from '@jest/globals';
import { errorCatalogue } from '../error-catalogue.ts';
import { authorizationServerReasons } from './authorization-server-reasons.ts';
import { deviceServiceReasons, failureReasons } from './failure-reasons.ts';
import { gatewayReasons } from './gateway-reasons.ts';
import { signingReasons } from './signing-reasons.ts';

test('No two files define a reason with the same name.', () => {
  const names = [
    gatewayReasons,
    signingReasons,
    authorizationServerReasons,
    deviceServiceReasons,
    errorCatalogue,
  ].flatMap((reasons) => Object.keys(reasons));
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test('There are at most 153 reasons, and each tells what happened and how to fix it.', () => {
  const all = Object.entries(failureReasons);
  expect(all.length).toBeLessThanOrEqual(153);
  for (const [name, { cause, fix }] of all) {
    expect([name, cause, fix]).toEqual([
      name,
      expect.stringMatching(/^[A-Z].{10,}\.$/),
      expect.stringMatching(/^\S.{5,}[.)`]$/),
    ]);
  }
});

test('Every text of the authorization server fits into error_description (RFC 6749 §5.2).', () => {
  for (const [name, { cause, fix }] of Object.entries(authorizationServerReasons)) {
    expect([name, `${cause} ${fix}`]).toEqual([
      name,
      expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+\.$/),
    ]);
  }
});
