import { startSystem } from '@gatehouse/testing/suite';
import type { Page } from 'playwright-core';

/** The user of all tests in this folder. */
export const alice = {
  username: 'alice',
  password: 'a person’s password',
  name: 'Alice Example',
  email: 'alice@example.com',
};

export const secureKey = 'foreignClientKey0123456789';

export const identityScopes = ['openid', 'profile', 'email', 'offline_access'];

/** Starts an authorization server with this user and the given clients, for a file of tests. */
export function startServerFor(clients: readonly Readonly<Record<string, unknown>>[]) {
  return startSystem({
    engine: 'sqlite',
    apps: ['authorization-server'],
    bootstrap: {
      organizations: [{ id: 'acme', name: 'Acme' }],
      users: [{ ...alice, emailVerified: true, orgId: 'acme' }],
      clients: clients.map((client) => ({
        name: client.clientId,
        orgId: 'acme',
        grantTypes: ['authorization_code', 'refresh_token'],
        scopes: identityScopes,
        ...(client.public === true ? {} : { secureKey }),
        ...client,
      })),
    },
  });
}

/** Signs in on the page of Gatehouse, and allows the access. */
export async function signInAndAllow(page: Page): Promise<void> {
  await page.getByLabel('Username').fill(alice.username);
  await page.getByLabel('Password').fill(alice.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
}
