import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { makeTierSecrets, SecretFileError } from '../scripts/container/tier-secrets.ts';

describe('the secrets of the containers', () => {
  let root: string;
  beforeEach(() => {
    root = temporaryFolder();
    mkdirSync(join(root, 'redis'));
    mkdirSync(join(root, 'postgres'));
    makeTierSecrets(root);
  });

  test('a file that cannot be read is named, with the reason', () => {
    const path = join(root, 'store/master.key');
    rmSync(path);
    mkdirSync(path);
    expect(() => makeTierSecrets(root)).toThrow(SecretFileError);
    expect(() => makeTierSecrets(root)).toThrow(`The secret ${path} cannot be read or written`);
    expect(() => makeTierSecrets(root)).toThrow('EISDIR');
  });

  test('a default user of Redis without rights gets all of them, and the store keeps its password', () => {
    const path = join(root, 'redis/users.acl');
    const passwordOf = (text: string) => /^user gatehouse .*(#[0-9a-f]{64})$/m.exec(text)?.[1];
    const before = readFileSync(path, 'utf8');
    rmSync(path);
    writeFileSync(path, before.replace(/^user default .*$/m, 'user default off'));
    makeTierSecrets(root);
    const after = readFileSync(path, 'utf8');
    expect(after).toMatch(/^user default on ~\* &\* \+@all #/m);
    expect(passwordOf(before)).toBeDefined();
    expect(passwordOf(after)).toBe(passwordOf(before));
  });

  test.each([
    ['store/store-url', 'redis:/gatehouse:secret@redis'],
    ['store/store-url', 'a-secret-without-url'],
    ['database/database-url', 'postgres://postgres:5432/devices'],
  ])('a damaged %s is named without its content', (name, content) => {
    const path = join(root, name);
    rmSync(path);
    writeFileSync(path, content);
    const expected = new SecretFileError(path, 'does not contain a URL with a password');
    expect(() => makeTierSecrets(root)).toThrow(expected);
    expect(String(expected)).not.toContain(content);
  });
});
