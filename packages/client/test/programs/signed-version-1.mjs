import { createSignedFetch, readResult } from '@gatehouse/client';

const { gateway, clientId, secureKey, digest } = JSON.parse(process.argv[2]);
const api = createSignedFetch({ gateway, clientId, secureKey, version: 1, digest });
const list = await readResult(
  await api('/api/device?pageSize=5&pageIndex=0&where=name%20like%20%25'),
);
const count = await readResult(
  await api('/device/instance/_count', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
  }),
);
console.log(JSON.stringify({ list, count }));
