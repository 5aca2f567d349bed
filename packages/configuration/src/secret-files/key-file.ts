import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Reads a file that holds a secret, making it first where it does not exist. Several processes may start
 * at once: the content is written whole under a temporary name and linked into place, so that exactly one
 * content wins and nobody reads half of it. Mode 0600.
 */
export function readOrCreateSecretFile(path: string, createContent: () => string): string {
  const existing = readIfPresent(path);
  if (existing !== undefined) {
    return existing;
  }
  // First: who does not want the file made throws here, and then no folder may be left behind.
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
