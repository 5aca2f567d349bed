/** Writes docs/failure-reasons.md from the catalogue, after reasons were added or changed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { failureReasonsDocument, failureReasonsPage } from '../test/failure-reasons-document.ts';
import { root } from '../test/source-tree.ts';

writeFileSync(join(root, failureReasonsDocument), failureReasonsPage());
