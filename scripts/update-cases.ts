/** Writes the tests of each case into docs/cases.md, after tests were added, moved or renamed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { casesDocument, testsByCase, withTests } from '../test/cases.ts';
import { readDocument } from '../test/documents.ts';
import { readSourceTree, root } from '../test/source-tree.ts';

const { text } = readDocument(casesDocument);
writeFileSync(join(root, casesDocument), withTests(text, testsByCase(readSourceTree())));
