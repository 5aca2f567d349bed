import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigurationError, type ConfigurationProblem } from '@gatehouse/configuration';
import type { Identity } from '../open-identity.ts';
import type { BootstrapDefinition } from './bootstrap-schema.ts';

const LOCK_KEY = 'lock:bootstrap';
const LOCK_SECONDS = 30;
const POLL_MILLISECONDS = 25;

/**
 * Brings the store in line with the definition. Idempotent: what it does not name stays as it is, and a
 * changed secureKey becomes the client's second active key. Several processes may start at once: they take
 * turns by a claim.
 *
 * @throws ConfigurationError when a client or user names an organisation that does not exist
 */
export async function applyBootstrap(
  definition: BootstrapDefinition,
  identity: Identity,
): Promise<void> {
  const owner = randomBytes(16).toString('hex');
  while ((await identity.store.claim(LOCK_KEY, owner, LOCK_SECONDS)) !== owner) {
    await sleep(POLL_MILLISECONDS);
  }
  try {
    await assertOrganizationsExist(definition, identity);
    for (const organization of definition.organizations) {
      await identity.organizations.save(organization);
    }
    for (const { secureKey, secureKeyFile: _read, ...client } of definition.clients) {
      const notBefore = (await identity.clients.find(client.clientId))?.notBefore ?? 0;
      await identity.clients.save({ ...client, notBefore }, secureKey);
    }
    for (const { password = '', passwordFile: _read, ...user } of definition.users) {
      await identity.users.ensure({ ...user, password });
    }
  } finally {
    await identity.store.delete([LOCK_KEY]);
  }
}

async function assertOrganizationsExist(
  definition: BootstrapDefinition,
  identity: Identity,
): Promise<void> {
  const named = new Set(definition.organizations.map((organization) => organization.id));
  const problems: ConfigurationProblem[] = [];
  for (const kind of ['clients', 'users'] as const) {
    for (const [i, { orgId }] of definition[kind].entries()) {
      if (!named.has(orgId) && (await identity.organizations.find(orgId)) === undefined) {
        problems.push({
          name: `BOOTSTRAP_FILE ${kind}.${i}.orgId`,
          message: `there is no organisation ${orgId}`,
        });
      }
    }
  }
  if (problems.length > 0) {
    throw new ConfigurationError(problems);
  }
}
