// requires: redis-server
import { describeStoreContract } from '../contract/store-contract.ts';
import { startClusterNodes } from './redis-cluster-nodes.ts';

describeStoreContract('RD-12 Redis Cluster', startClusterNodes);
