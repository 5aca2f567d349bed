import { createTokenFetch, GatehouseError, readResult } from '@gatehouse/client';

const { gateway, tokenEndpoint, clientId, secureKey } = JSON.parse(process.argv[2]);
const options = { gateway, tokenEndpoint, clientId, clientSecret: secureKey };
const api = createTokenFetch(options);
const lists = await Promise.all(
  ['/api/device', '/api/device'].map(async (path) => readResult(await api(path))),
);
const wrong = createTokenFetch({ ...options, clientSecret: 'wrong' });
const error = await wrong('/api/device').catch((thrown) => thrown);
console.log(JSON.stringify({ lists, isError: error instanceof GatehouseError, code: error.code }));
