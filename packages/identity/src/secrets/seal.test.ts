import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createCredentialHash } from './credential-keys.ts';
import { deriveKey } from './master-key.ts';
import { createSealer } from './seal.ts';

const masterKey = randomBytes(32);
const sealer = createSealer(masterKey);

describe('an encrypted text', () => {
  test.each(['', 'secret', 'ünïcödé 中 😀', 'x'.repeat(100_000)])('decrypts %j', (text) => {
    expect(sealer.open(sealer.seal(text, 'context'), 'context')).toBe(text);
  });

  test('does not contain the text and is different every time', () => {
    const sealed = sealer.seal('marker-in-the-clear', 'context');
    expect(sealed).not.toContain('marker');
    expect(Buffer.from(sealed.slice(3), 'base64url').toString('latin1')).not.toContain('marker');
    expect(sealer.seal('marker-in-the-clear', 'context')).not.toBe(sealed);
  });

  test('cannot be decrypted with another context or master key', () => {
    const sealed = sealer.seal('secret', 'client:a:secureKey');
    expect(() => sealer.open(sealed, 'client:b:secureKey')).toThrow('cannot be decrypted');
    const other = createSealer(randomBytes(32));
    expect(() => other.open(sealed, 'client:a:secureKey')).toThrow('master key is different');
  });

  test('cannot be decrypted if one bit was changed', () => {
    const sealed = sealer.seal('secret', 'context');
    const bytes = Buffer.from(sealed.slice(3), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const altered = Buffer.from(bytes);
      altered.writeUInt8(altered.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(() => sealer.open(`v1.${altered.toString('base64url')}`, 'context')).toThrow();
    }
  });

  test('has only one form', () => {
    const sealed = sealer.seal('secret!!', 'context');
    for (const altered of [
      `${sealed}.more`,
      `${sealed}=`,
      `${sealed}!`,
      `${sealed}\n`,
      sealed.slice(0, -1),
      sealed.replace('v1.', 'v2.'),
      sealed.replace('v1.', 'v1. '),
      sealed.slice(3),
      'v1.',
      '',
      'v1.AAAA',
    ]) {
      expect(() => sealer.open(altered, 'context')).toThrow();
    }
  });
});

describe('derived keys', () => {
  test('differ for two purposes and are stable', () => {
    expect(deriveKey(masterKey, 'a')).toEqual(deriveKey(masterKey, 'a'));
    expect(deriveKey(masterKey, 'a')).not.toEqual(deriveKey(masterKey, 'b'));
    expect(deriveKey(randomBytes(32), 'a')).not.toEqual(deriveKey(masterKey, 'a'));
    expect(deriveKey(masterKey, 'a')).toHaveLength(32);
  });

  test('the hash of a credential is stable, keyed, and does not contain the credential', () => {
    const hash = createCredentialHash(masterKey);
    expect(hash('token')).toBe(createCredentialHash(masterKey)('token'));
    expect(hash('token')).not.toBe(hash('tokem'));
    expect(hash('token')).not.toContain('token');
    expect(hash('token')).not.toBe(createCredentialHash(randomBytes(32))('token'));
    expect(hash('')).toMatch(/^[\w-]{43}$/);
  });
});
