import { logTypes } from '@gatehouse/device-api';
import type { QuerySubject } from '../query-grammar/query.ts';

export const logQueryColumns = {
  id: { kind: 'text' },
  deviceId: { kind: 'text' },
  productId: { kind: 'text' },
  type: { kind: 'enum', values: logTypes },
  createTime: { kind: 'integer' },
  timestamp: { kind: 'integer' },
  content: { kind: 'text' },
  messageId: { kind: 'text' },
} as const;

export const logSubject: QuerySubject = {
  columns: logQueryColumns,
  fields: Object.keys(logQueryColumns),
};
