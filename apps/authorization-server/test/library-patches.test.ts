/** At start, the patches of oidc-provider check that they were compared with the installed version. */
import { createRequire } from 'node:module';
import { expect, test } from '@jest/globals';
import { startInProcess } from './in-process-server.ts';

test('the patches of oidc-provider reject another version of the library', async () => {
  const installed = createRequire(import.meta.url)('oidc-provider/package.json');
  const { version } = installed;
  installed.version = '9.99.0';
  try {
    await expect(startInProcess()).rejects.toThrow(
      /oidc-provider .*, but 9\.99\.0 is installed.*09-oidc-provider-patches\.md/s,
    );
  } finally {
    installed.version = version;
  }
});
