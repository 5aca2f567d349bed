/**
 * docs/failure-reasons.md explains every reason of the catalogue, and every reason is explained.
 */
import { errorCatalogue, failureReasons, isFailureReason } from '@gatehouse/errors';
import { describe, expect, test } from '@jest/globals';
import { deviceServiceReasons } from '../packages/errors/src/reasons/device-service-reasons.ts';
import { gatewayReasons } from '../packages/errors/src/reasons/gateway-reasons.ts';
import { readDocument } from './documents.ts';
import { failureReasonsDocument, failureReasonsPage } from './failure-reasons-document.ts';
import { readSourceTree } from './source-tree.ts';

const reasons = Object.entries(failureReasons);

test('The page of reasons equals the catalogue. If not, run npm run update:reasons.', () => {
  const { text } = readDocument(failureReasonsDocument);
  expect(text.split('\n')).toEqual(failureReasonsPage().split('\n'));
});

describe('every reason', () => {
  test('has a cause, a fix and an example', () => {
    const incomplete = reasons.filter(
      ([, { cause, fix, example }]) =>
        !/^\S.{10,}[.)`]$/s.test(cause) || !/^\S.{5,}[.)`]$/s.test(fix) || example.length < 3,
    );
    expect(incomplete).toEqual([]);
  });

  test('of gateway and device service is used by a server', () => {
    const code = readSourceTree()
      .filter(({ path, isTest }) => !isTest && !path.startsWith('packages/errors/'))
      .map(({ text }) => text)
      .join('\n');
    const names = Object.keys({ ...gatewayReasons, ...deviceServiceReasons });
    const unused = names.filter((name) => !code.includes(name));
    expect(unused).toEqual([]);
  });
});

test('Every error code of the platform API is the name of a reason.', () => {
  const codes = Object.keys(errorCatalogue).filter((code) => code !== 'internal_server_error');
  expect(codes.filter((code) => !isFailureReason(code))).toEqual([]);
});
