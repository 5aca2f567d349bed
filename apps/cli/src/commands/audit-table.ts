import { lastTimeOf } from '@gatehouse/identity';
import { type NamedEntry, printableName } from './audit-names.ts';

export const auditHeading = [
  'LAST TIME',
  'SEVERITY',
  'EVENT',
  'COUNT',
  'CLIENT',
  'USER',
  'FROM',
  'DETAILS',
];

export function auditCells(entry: NamedEntry): readonly string[] {
  const {
    id: _id,
    at,
    event,
    severity,
    outcome: _outcome,
    actor,
    clientId,
    clientName,
    userId,
    username,
    address,
    requestId,
    count = 1,
    lastAt,
    isSummary,
    ...rest
  } = entry;
  const details = {
    ...(lastAt === undefined ? {} : { first: at }),
    ...(address === undefined ? {} : { actor }),
    ...rest,
    ...(isSummary === true ? { summary: 'several clients, users or reasons' } : {}),
    ...(requestId === undefined ? {} : { request: requestId }),
  };
  return [
    lastTimeOf(entry),
    severity,
    event,
    `×${count}`,
    clientId === undefined ? '-' : namedClient(clientId, clientName),
    username === undefined ? (userId ?? '-') : printableName(username),
    address ?? actor,
    Object.entries(details)
      .map(([name, value]) => `${name}=${String(value)}`)
      .join(' '),
  ];
}

/** A client by id, with its name if that differs. */
export function namedClient(clientId: string, name: string | undefined): string {
  return name === undefined || name === clientId
    ? clientId
    : `${clientId} (${printableName(name)})`;
}
