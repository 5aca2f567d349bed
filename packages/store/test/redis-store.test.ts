// requires: redis-server
import { startRedisServer } from '@gatehouse/testing';
import { describeStoreContract } from '../src/store-contract.ts';

describeStoreContract('Redis', () => startRedisServer());
