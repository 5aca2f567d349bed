import { MAXIMUM_CONFIGURATION_ENTRIES } from '@gatehouse/device-api';
import { ApiError, illegalArgument } from '@gatehouse/errors';
import { sql } from 'kysely';
import { inTransaction, withOneChange } from '../database/in-transaction.ts';
import type { OrganizationDatabase } from '../database/organization-scope.ts';
import type { DatabaseEngine } from '../tables/tables.ts';
import { addDevices, addToKnownProduct } from './add-devices.ts';
import type { Device, DeviceChanges, NewDevice } from './device.ts';
import { findDevice } from './device-rows.ts';
import type { AddOutcome, Devices } from './devices.ts';
import { countDevices, readDevicePage } from './read-devices.ts';

export function createSqlDevices(database: OrganizationDatabase, engine: DatabaseEngine): Devices {
  const change = (id: string, work: (transaction: OrganizationDatabase) => Promise<unknown>) =>
    inTransaction(database, async (transaction) => {
      await work(transaction);
      return findDevice(transaction, id);
    });
  return {
    find: (id) => findDevice(database, id),
    page: (query) => readDevicePage(database, query, engine),
    count: (condition) => countDevices(database, condition, engine),
    add: (device) => addDevice(database, engine, device),
    addAll: (devices, allOrNothing) => addAll(database, devices, allOrNothing),
    update: (id, changes) =>
      change(id, (transaction) => updateDevice(transaction, id, changes, engine)),
    deploy: (id) =>
      change(id, (transaction) =>
        transaction
          .updateTable('devices')
          .set({ state: sql`case when connected = 1 then 'online' else 'offline' end` })
          .where('id', '=', id)
          .where('state', '=', 'notActive')
          .execute(),
      ),
    undeploy: (id) =>
      change(id, (transaction) =>
        transaction
          .updateTable('devices')
          .set({ state: 'notActive' })
          .where('id', '=', id)
          .where('state', '<>', 'notActive')
          .execute(),
      ),
    remove: (id) => removeDevice(database, id),
  };
}

async function addDevice(
  database: OrganizationDatabase,
  engine: DatabaseEngine,
  device: NewDevice,
): Promise<Device> {
  const added = await withOneChange(database, engine, (current) =>
    addToKnownProduct(current, device),
  );
  if (added === 'duplicate_key') {
    throw new ApiError('duplicate_key');
  }
  return added ?? inTransaction(database, (transaction) => addWithProduct(transaction, device));
}

async function addWithProduct(
  transaction: OrganizationDatabase,
  device: NewDevice,
): Promise<Device> {
  const [outcome] = await addDevices(transaction, [device]);
  if (outcome === 'duplicate_key') {
    throw new ApiError('duplicate_key');
  }
  if (outcome === 'unknown_product') {
    throw illegalArgument([
      { property: 'productName', message: 'is required for a product that does not exist yet' },
    ]);
  }
  const added = await findDevice(transaction, device.id);
  if (added === undefined) {
    throw new Error('A device that was just inserted is missing.');
  }
  return added;
}

/** Rolls back the transaction, and carries the outcomes out of it. */
class NothingAddedError extends Error {
  readonly outcomes: readonly AddOutcome[];

  constructor(outcomes: readonly AddOutcome[]) {
    super('One device of a batch cannot be added.');
    this.outcomes = outcomes;
  }
}

async function addAll(
  database: OrganizationDatabase,
  devices: readonly NewDevice[],
  allOrNothing: boolean,
): Promise<readonly AddOutcome[]> {
  try {
    return await inTransaction(database, async (transaction) => {
      const outcomes = await addDevices(transaction, devices);
      if (allOrNothing && outcomes.some((outcome) => outcome !== 'created')) {
        throw new NothingAddedError(outcomes);
      }
      return outcomes;
    });
  } catch (error) {
    if (error instanceof NothingAddedError) {
      return error.outcomes;
    }
    throw error;
  }
}

async function updateDevice(
  transaction: OrganizationDatabase,
  id: string,
  { configuration, ...columns }: DeviceChanges,
  engine: DatabaseEngine,
): Promise<void> {
  const current = await transaction
    .selectFrom('devices')
    .select('configuration')
    .where('id', '=', id)
    // In SQLite, the transaction already holds the lock.
    .$if(engine === 'postgres', (query) => query.forUpdate())
    .executeTakeFirst();
  if (current === undefined) {
    return;
  }
  const changes = {
    ...columns,
    ...(configuration === undefined
      ? {}
      : { configuration: merge(current.configuration, configuration) }),
  };
  if (Object.keys(changes).length > 0) {
    await transaction.updateTable('devices').set(changes).where('id', '=', id).execute();
  }
}

/** RFC 7396: null removes a key, every other value sets it. */
function merge(current: string, changes: Readonly<Record<string, string | null>>): string {
  const merged = { ...(JSON.parse(current) as Record<string, string>), ...changes };
  const entries = Object.entries(merged).filter(([, value]) => value !== null);
  if (entries.length > MAXIMUM_CONFIGURATION_ENTRIES) {
    const message = `must have at most ${MAXIMUM_CONFIGURATION_ENTRIES} entries`;
    throw illegalArgument([{ property: 'configuration', message }]);
  }
  return JSON.stringify(Object.fromEntries(entries));
}

async function removeDevice(
  database: OrganizationDatabase,
  id: string,
): Promise<'removed' | 'active' | 'missing'> {
  const removed = await database
    .deleteFrom('devices')
    .where('id', '=', id)
    .where('state', '=', 'notActive')
    .returning('id')
    .executeTakeFirst();
  if (removed !== undefined) {
    return 'removed';
  }
  const found = await database
    .selectFrom('devices')
    .select('id')
    .where('id', '=', id)
    .executeTakeFirst();
  return found === undefined ? 'missing' : 'active';
}
