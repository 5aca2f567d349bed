import { describe, expect, test } from '@jest/globals';
import {
  parseReplication,
  REPLICA_HOLD_MILLISECONDS,
  RequiredReplicas,
} from './required-replicas.ts';

const report = (...inSync: string[]) => ({
  history: 'a',
  hasReplicas: inSync.length > 0,
  inSync,
  refusesWithoutReplicas: false,
});

describe('the report of a server about its replicas', () => {
  test('counts the replicas that receive writes and have acknowledged them within two seconds', () => {
    const information = [
      '# Replication',
      'role:master',
      'connected_slaves:6',
      'min_slaves_good_slaves:2',
      'slave0:ip=10.0.0.1,port=6379,state=online,offset=98,lag=0',
      'slave1:ip=10.0.0.2,port=6380,state=online,offset=98,lag=2',
      'slave2:ip=10.0.0.3,port=6379,state=online,offset=50,lag=3',
      'slave3:ip=10.0.0.4,port=6379,state=wait_bgsave,offset=0,lag=0',
      'slave4:ip=10.0.0.5,port=6379,state=online,offset=0,lag=-1',
      'slave5:ip=10.0.0.6,port=6379,state=online,offset=0,lag=0',
      'master_replid:0d1f',
    ].join('\r\n');
    expect(parseReplication(information)).toEqual({
      history: '0d1f',
      hasReplicas: true,
      inSync: ['10.0.0.1:6379', '10.0.0.2:6380'],
      refusesWithoutReplicas: true,
    });
  });
});

describe('the number of replicas that must acknowledge', () => {
  test('is one if all replicas are silent, even for a process that has just started', () => {
    const silent =
      'slave0:ip=10.0.0.1,port=6379,state=online,offset=98,lag=5\r\nmaster_replid:77\r\n';
    const required = new RequiredReplicas();
    required.learn(parseReplication(silent), 0);
    expect(required.count).toBe(1);
  });

  test('is one if the server requires a replica', () => {
    const required = new RequiredReplicas();
    required.learn({ ...report(), refusesWithoutReplicas: true }, 0);
    expect(required.count).toBe(1);
  });

  test('includes every replica that is in sync', () => {
    const required = new RequiredReplicas();
    required.learn(report('one', 'two'), 0);
    expect(required.count).toBe(2);
  });

  test('includes a replica that has just disconnected, because it may be the new master', () => {
    const required = new RequiredReplicas();
    required.learn(report('one', 'two'), 0);
    required.learn(report('one'), REPLICA_HOLD_MILLISECONDS);
    expect(required.count).toBe(2);
    required.learn(report('one'), REPLICA_HOLD_MILLISECONDS + 1);
    expect(required.count).toBe(1);
  });

  test('stays one after the last replica disconnects, because the master may be cut off', () => {
    const required = new RequiredReplicas();
    required.learn(report('one'), 0);
    required.learn(report(), 10 * REPLICA_HOLD_MILLISECONDS);
    expect(required.count).toBe(1);
  });
});
