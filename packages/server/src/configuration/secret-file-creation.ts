import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Reads a file that contains a secret, and creates it with mode 0600 if it does not exist. Several
 * processes can start at once. The content is written to a temporary file and then linked, so all
 * of them read the same complete content.
 */
export function readOrCreateSecretFile(path: string, createContent: () => string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    assertCode(error, 'ENOENT');
  }
  // Runs first. If it throws, no folder is created.
  const content = createContent();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  writeFileSync(temporary, content, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(temporary, path);
  } catch (error) {
    assertCode(error, 'EEXIST');
  } finally {
    unlinkSync(temporary);
  }
  return readFileSync(path, 'utf8');
}

function assertCode(error: unknown, code: string): void {
  if ((error as NodeJS.ErrnoException | undefined)?.code !== code) {
    throw error;
  }
}
