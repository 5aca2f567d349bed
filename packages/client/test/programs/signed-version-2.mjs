import { createSignedFetch, readResult } from '@gatehouse/client';

const { gateway, clientId, secureKey } = JSON.parse(process.argv[2]);
const api = createSignedFetch({ gateway, clientId, secureKey });
const query = new URLSearchParams({ where: 'name like %张%', pageSize: '5' });
const list = await readResult(await api(`/api/device?${query}`));
const missing = await api(new Request(new URL('/api/v1/device/none/_detail', gateway)));
console.log(JSON.stringify({ list, missing: missing.status }));
