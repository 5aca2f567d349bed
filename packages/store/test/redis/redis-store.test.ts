// requires: redis-server
import { startRedisServer } from '@gatehouse/testing';
import { describeStoreContract } from '../contract/store-contract.ts';

describeStoreContract('Redis', () => startRedisServer());
