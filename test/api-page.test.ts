import { errorCatalogue } from '@gatehouse/api-envelope';
import { operations } from '@gatehouse/device-api';
import { expect, test } from '@jest/globals';
import { readApiDocument } from './api-document.ts';
import { apiPage, apiPagePath } from './api-page.ts';
import { readDocument } from './documents.ts';

test('docs/api.md equals the OpenAPI document. If not, run npm run update:api.', async () => {
  expect(readDocument(apiPagePath).text.split('\n')).toEqual((await apiPage()).split('\n'));
});

test('The OpenAPI document has every operation, and every error code with its status.', async () => {
  const text = JSON.stringify(await readApiDocument('gatehouse.test'));
  for (const { name } of operations) {
    expect(text).toContain(`"operationId":"${name}"`);
  }
  for (const [code, { status }] of Object.entries(errorCatalogue)) {
    expect(text).toContain(`\`${code}\` ${status}`);
  }
});
