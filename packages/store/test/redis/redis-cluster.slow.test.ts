// requires: redis-server
// runs alone: it has deadlines of seconds under load
import { describeStoreContract } from '../contract/store-contract.ts';
import { startClusterNodes } from './redis-cluster-nodes.ts';

describeStoreContract('RD-12 Redis Cluster', startClusterNodes);
