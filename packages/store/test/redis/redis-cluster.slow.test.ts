// requires: redis-server
// runs alone: it has deadlines of seconds under load
import { describeStoreContract } from '../contract/store-contract.ts';
import { startClusterNodes } from './redis-cluster-nodes.ts';

describeStoreContract('Redis Cluster', startClusterNodes);
