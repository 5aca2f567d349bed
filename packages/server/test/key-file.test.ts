import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { beforeEach, expect, test } from '@jest/globals';
import { readOrCreateSecretFile } from '../src/configuration.ts';

const run = promisify(execFile);
const reader = join(import.meta.dirname, 'read-secret.ts');
let directory = '';

beforeEach(() => {
  directory = temporaryFolder();
});

test('a secret file is created once with its folder, readable only by its owner', () => {
  const path = join(directory, 'deep', 'data', 'secret');
  expect(readOrCreateSecretFile(path, () => 'first')).toBe('first');
  expect(readOrCreateSecretFile(path, () => 'second')).toBe('first');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(directory, 'deep')).mode & 0o777).toBe(0o700);
  expect(readdirSync(join(directory, 'deep', 'data'))).toEqual(['secret']);
});

test('an existing file stays unchanged, even if it is empty', () => {
  const path = join(directory, 'secret');
  writeFileSync(path, '');
  expect(readOrCreateSecretFile(path, () => 'other')).toBe('');
  expect(readFileSync(path, 'utf8')).toBe('');
});

test('eight concurrent processes read the same complete content', async () => {
  const path = join(directory, 'data', 'secret');
  const startAt = String(Date.now() + 600);
  const contents = Array.from({ length: 8 }, (_, i) => `${i}`.repeat(50_000));
  const outputs = await Promise.all(
    contents.map((content) => run(process.execPath, [reader, path, content, startAt])),
  );
  const read = new Set(outputs.map((output) => output.stdout));
  expect(read.size).toBe(1);
  expect(contents).toContain([...read][0]);
  expect(readdirSync(join(directory, 'data'))).toEqual(['secret']);
});

test('an error while the content is created leaves no files', () => {
  const path = join(directory, 'mistyped', 'secret');
  const refuse = () => {
    throw new Error('refused');
  };
  expect(() => readOrCreateSecretFile(path, refuse)).toThrow('refused');
  expect(existsSync(join(directory, 'mistyped'))).toBe(false);
});

test('an unreadable file is an error and is never replaced', () => {
  const path = join(directory, 'folder');
  mkdirSync(path);
  expect(() => readOrCreateSecretFile(path, () => 'content')).toThrow('EISDIR');
  expect(() => readOrCreateSecretFile(join('/dev/null', 'secret'), () => 'x')).toThrow('EEXIST');
});
