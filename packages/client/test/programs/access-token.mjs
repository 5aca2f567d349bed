import { createAccessTokenFetch, readResult } from '@gatehouse/client';

const { gateway, clientId, secureKey } = JSON.parse(process.argv[2]);
const api = createAccessTokenFetch({ gateway, clientId, secureKey, expiresInSeconds: 600 });
console.log(JSON.stringify({ list: await readResult(await api('/api/device')) }));
