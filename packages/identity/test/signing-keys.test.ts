// requires: redis-server
import { randomBytes, sign, verify } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { createSealer } from '../src/secrets/seal.ts';
import { describeOnBothEngines, loadSigningKey } from './on-both-engines.ts';

describeOnBothEngines('signing keys', ({ openIdentity, openStore, storedText }) => {
  test('20 concurrent first starts over two connections create one key', async () => {
    const identities = [openIdentity(), openIdentity()];
    const keys = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        loadSigningKey('gateway', identities[i % 2] ?? openIdentity()),
      ),
    );
    expect(new Set(keys.map((key) => key.kid)).size).toBe(1);
    expect(await loadSigningKey('gateway', openIdentity())).toMatchObject({
      kid: keys[0]?.kid,
    });
  });

  test.each([
    ['gateway', 'EdDSA'],
    ['authorization-server', 'RS256'],
  ] as const)(
    'a key of the %s is for %s, has the thumbprint of RFC 7638 and can sign',
    async (purpose, algorithm) => {
      const key = await loadSigningKey(purpose, openIdentity());
      expect(key.kid).toBe(await calculateJwkThumbprint(key.publicJwk as JWK));
      expect(key.publicJwk).toMatchObject({ kid: key.kid, alg: algorithm, use: 'sig' });
      const hashName = algorithm === 'RS256' ? 'sha256' : null;
      const signature = sign(hashName, Buffer.from('text'), key.privateKey);
      const publicKey = { key: key.publicJwk, format: 'jwk' } as const;
      expect(verify(hashName, Buffer.from('text'), publicKey, signature)).toBe(true);
    },
  );

  test('the store contains no readable private key, and another master key cannot decrypt it', async () => {
    const { privateJwk } = await loadSigningKey('gateway', openIdentity());
    expect(await storedText()).not.toContain(String(privateJwk.d));
    const stranger = { store: openStore(), sealer: createSealer(randomBytes(32)) };
    await expect(loadSigningKey('gateway', stranger)).rejects.toMatchObject({
      name: 'DamagedSigningKeysError',
      reason: expect.stringContaining('another master key'),
    });
  });

  test('an encrypted key cannot be decrypted for another purpose', async () => {
    const identity = openIdentity();
    await loadSigningKey('gateway', identity);
    const sealed = (await identity.store.get('signing-key:gateway:EdDSA')) ?? '';
    await identity.store.set('signing-key:authorization-server:RS256', sealed);
    await expect(loadSigningKey('authorization-server', identity)).rejects.toMatchObject({
      name: 'DamagedSigningKeysError',
      reason: expect.stringContaining('Delete the record'),
    });
    await identity.store.delete(['signing-key:authorization-server:RS256']);
  });
});
