import { clientSchema, type Identity } from '@gatehouse/identity';
import { print, timed } from '../device-service/printing.ts';

const ORGANIZATIONS = 100;
const DISABLED_EVERY = 100;
const AT_ONCE = 32;

const given =
  'Mary James Olga Ada Anna Jonas Ingrid Pedro Lucia Rita Omar Tina Lena Marta Marcus Noah Zoe Ivan Sam Bruno'.split(
    ' ',
  );
const family =
  'Smith Garcia Chen Baker Cook Larsen Silva Hunter Mason Fisher Patel Weber Dubois Miller Martin Jensen Costa Carter Ahmed Berg Lopez Fischer Moreau Santos Kim'.split(
    ' ',
  );
const devices = 'Meter Sensor Camera Valve Pump Turbine Charger Router Gate Lamp'.split(' ');
const tasks = 'Reader Writer Control Import Export Alerts Billing Portal'.split(' ');

/** So that organizations and names do not depend on each other. */
const mixed = (i: number) => Math.imul(i, 2_654_435_761) >>> 8;
const pick = (list: readonly string[], i: number) => list[i % list.length] ?? '';

/** Creates as many clients as users. All users have one password. @returns texts to search for */
export async function seed(identity: Identity, records: number, passwordHash: string) {
  const { organizations, clients, users } = identity;
  const orgIds = Array.from({ length: ORGANIZATIONS }, (_, i) => `org-${i}`);
  for (const id of orgIds) {
    await organizations.save({ id, name: `Organization ${id}` });
  }
  const own = (i: number) => ({
    orgId: pick(orgIds, mixed(i)),
    enabled: mixed(i + records) % DISABLED_EVERY !== 0,
  });
  const clientOf = (i: number) => {
    const words = [pick(devices, i), pick(tasks, Math.floor(i / devices.length))];
    return { clientId: `${words.join('-').toLowerCase()}-${i}`, name: `${words.join(' ')} ${i}` };
  };
  const userOf = (i: number) => {
    const [givenName, familyName] = [pick(given, i), pick(family, Math.floor(i / given.length))];
    const username = `${givenName}.${familyName}${i}`.toLowerCase();
    const email = `${familyName}.${givenName}.${i}@example.com`.toLowerCase();
    return { username, email, givenName, familyName, name: `${givenName} ${familyName}` };
  };
  const seconds = await timed(() =>
    all(records, async (i) => {
      const secureKey = `Key${i}Qx7Zw2Kp9TfR4mVs`;
      const parsed = clientSchema.parse({ ...clientOf(i), ...own(i), secureKey });
      const { secureKey: _, ...client } = parsed;
      await clients.save(client, secureKey);
      const roles: string[] = [];
      await users.add({ ...userOf(i), ...own(i), emailVerified: true, roles, passwordHash });
    }),
  );
  print(`${records} clients and users made in ${(seconds / 1000).toFixed(0)} s`);
  const some = Array.from({ length: 1000 }, (_, i) => (i * 97) % records);
  return {
    orgIds,
    clients: {
      names: some.map((i) => clientOf(i).name),
      ids: some.map((i) => clientOf(i).clientId),
      addresses: [],
    },
    users: {
      names: some.map((i) => userOf(i).name),
      ids: some.map((i) => userOf(i).username),
      addresses: some.map((i) => userOf(i).email),
    },
  };
}

async function all(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      next += 1;
      await work(next - 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
