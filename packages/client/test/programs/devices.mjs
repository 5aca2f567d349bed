import { createDeviceClient, createSignedFetch } from '@gatehouse/client';

const { gateway, clientId, secureKey, version } = JSON.parse(process.argv[2]);
const { devices, logs, tags } = createDeviceClient(
  createSignedFetch({ gateway, clientId, secureKey, version }),
);
const names = ['p-1', 'p-2', 'p-3', 'p-4', 'p-5'];
const { created } = await devices.createMany(
  names.map((id) => ({ id, name: id, productId: 'pump', productName: 'Pump' })),
);
const pages = [];
for await (const page of devices.query({ pageSize: 2, where: 'productId = pump', orderBy: 'id' })) {
  pages.push(page.data.map(({ id }) => id));
}
const records = Array.from({ length: 1500 }, (_, index) => ({ type: 'event', content: index }));
const batches = [];
const reported = await logs.report('p-1', records, (stored) => batches.push(stored.length));
const [tag] = await tags.set('p-1', [{ key: 'site', value: 'north' }]);
await devices.deployMany(names);
const offline = await devices.count({ where: 'state = offline' });
await Promise.all(names.map((id) => devices.undeploy(id)));
const { failed } = await devices.deleteMany(names);
const error = await devices.get('p-1').catch((thrown) => thrown);
console.log(
  JSON.stringify({
    created,
    pages,
    reported,
    batches,
    tag: tag.value,
    offline,
    failed,
    code: error.code,
  }),
);
