/**
 * At start, the patches of oidc-provider check that the library still has the shape that they need.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import Provider from 'oidc-provider';
import { confirm } from 'oidc-provider/lib/actions/end_session.js';
import { applyPatches } from '../src/provider/patches.ts';
import { startInProcess } from './in-process-server.ts';

const library = new URL('../', import.meta.resolve('oidc-provider'));
const provider = new Provider('http://localhost');

/** A member of the library, the object that has it, and the file that the error names. */
const joints: readonly (readonly [string, () => object, string])[] = [
  ['ctx', () => Provider, 'lib/provider.js'],
  ['generateTokenId', () => provider.RefreshToken.prototype, 'lib/models/base_model.js'],
  ['destroy', () => provider.Session.prototype, 'lib/models/session.js'],
  ['persist', () => provider.Session.prototype, 'lib/models/session.js'],
  ['find', () => provider.Client, 'lib/models/client.js'],
  ...Object.getOwnPropertyNames(provider.Client.prototype)
    .filter((name) => /^(responseType|grantType)Allowed$|^compareClientSecret$/.test(name))
    .map((name) => [name, () => provider.Client.prototype, 'lib/models/client.js'] as const),
  ['acr', () => provider.OIDCContext.prototype, 'lib/helpers/oidc_context.js'],
  ['unique', () => provider.ReplayDetection, 'lib/models/replay_detection.js'],
  ['IN_PAYLOAD', () => provider.RefreshToken, 'lib/models/base_token.js'],
  ['name', () => confirm.at(-1) ?? confirm, 'lib/actions/end_session.js'],
  ['save', () => provider.ClientCredentials.prototype, 'lib/models/base_token.js'],
];

describe('the patches of oidc-provider', () => {
  test.each(joints)('reject a library without %s', (member, holderOf, file) => {
    expect(existsSync(fileURLToPath(new URL(file, library)))).toBe(true);
    const restore = breakJoint(holderOf(), member);
    try {
      const dependencies = {} as Parameters<typeof applyPatches>[1];
      expect(() => applyPatches(provider, dependencies)).toThrow(
        `oidc-provider has changed in ${file}.`,
      );
    } finally {
      restore();
    }
  });

  test('end the start with a message that names the file and the instructions', async () => {
    const restore = breakJoint(Provider, 'ctx');
    try {
      await expect(startInProcess()).rejects.toThrow(
        /oidc-provider has changed in lib\/provider\.js.*09-oidc-provider-patches\.md/s,
      );
    } finally {
      restore();
    }
  });
});

/** Replaces the member of the object that has it by nothing. */
function breakJoint(holder: object, member: string): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(holder, member);
  Object.defineProperty(holder, member, { value: undefined, configurable: true });
  return () => {
    Reflect.deleteProperty(holder, member);
    if (descriptor !== undefined) {
      Object.defineProperty(holder, member, descriptor);
    }
  };
}
