import { deviceStates, deviceTypes } from '@gatehouse/device-api';
import type { QuerySubject } from '../query-grammar/query.ts';

const text = { kind: 'text' } as const;
const integer = { kind: 'integer' } as const;

export const deviceQueryColumns = {
  id: text,
  name: text,
  orgId: text,
  productId: text,
  productName: text,
  protocol: text,
  transport: text,
  deviceType: { kind: 'enum', values: deviceTypes },
  state: { kind: 'enum', values: deviceStates },
  address: text,
  onlineTime: integer,
  offlineTime: integer,
  createTime: integer,
  registerTime: integer,
  registryTime: integer,
} as const;

export const deviceSubject: QuerySubject = {
  columns: deviceQueryColumns,
  fields: Object.keys(deviceQueryColumns),
};
