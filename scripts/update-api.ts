/** Writes docs/api.md from the OpenAPI document, after operations or schemas changed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiPage, apiPagePath } from '../test/api-page.ts';
import { root } from '../test/source-tree.ts';

writeFileSync(join(root, apiPagePath), await apiPage());
