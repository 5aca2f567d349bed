import { expect, test } from '@jest/globals';
import { findingCatalogue } from '../apps/cli/src/doctor/finding-catalogue.ts';
import { firstName, readDocument, tableRows } from './documents.ts';

test('docs/operations/doctor.md lists every finding of the doctor with its severity', () => {
  const rows = tableRows(readDocument('docs/operations/doctor.md'), 'Findings');
  const listed = rows.map((row) => [firstName(row), row.cells[1]]);
  const known = Object.entries(findingCatalogue).map(([id, { severity }]) => [id, severity]);
  expect(listed).toEqual(known);
});
