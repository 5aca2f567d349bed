import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Reads a file that contains a secret, and creates it with mode 0600 if it does not exist. Several
 * processes can start at once. The content is written to a temporary file and then linked, so all
 * of them read the same complete content.
 */
export function readOrCreateSecretFile(path: string, createContent: () => string): string {
  const existing = readIfPresent(path);
  if (existing !== undefined) {
    return existing;
  }
  // Runs first. If it throws, no folder is created.
  const content = createContent();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  writeFileSync(temporary, content, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) {
      throw error;
    }
  } finally {
    unlinkSync(temporary);
  }
  return readFileSync(path, 'utf8');
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) {
      return undefined;
    }
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
