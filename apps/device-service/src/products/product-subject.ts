import { deviceTypes } from '@gatehouse/device-api';
import type { QuerySubject } from '../query-grammar/query.ts';

export const productQueryColumns = {
  id: { kind: 'text' },
  name: { kind: 'text' },
  orgId: { kind: 'text' },
  deviceType: { kind: 'enum', values: deviceTypes },
  protocol: { kind: 'text' },
  transport: { kind: 'text' },
  createTime: { kind: 'integer' },
} as const;

export const productSubject: QuerySubject = {
  columns: productQueryColumns,
  fields: Object.keys(productQueryColumns),
};
