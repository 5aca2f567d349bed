/**
 * Writes docs/failure-reasons.md and the last chapter of docs/signing.md from the catalogue, after
 * reasons were added or changed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  beforeTroubleshooting,
  failureReasonsDocument,
  failureReasonsPage,
  signingTroubleshooting,
} from '../test/failure-reasons-document.ts';
import { root } from '../test/source-tree.ts';

const signing = join(root, 'docs/signing.md');

writeFileSync(join(root, failureReasonsDocument), failureReasonsPage());
const before = beforeTroubleshooting(readFileSync(signing, 'utf8'));
writeFileSync(signing, `${before}${signingTroubleshooting()}`);
