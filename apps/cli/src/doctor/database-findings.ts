import type { FindingEntry } from './severity.ts';

/** The part of the catalogue about the database of the devices. */
export const databaseFindings = {
  database_can_be_damaged: {
    severity: 'error',
    why: 'After a power failure, the database can be damaged, and not start.',
    fix: 'Turn the setting on.',
  },
  database_pages_not_protected: {
    severity: 'warning',
    why: 'After a power failure, a page can be damaged, unless the file system writes whole pages, as ZFS does.',
    fix: 'Turn the setting on, unless the file system writes whole pages.',
  },
  database_may_lose_writes: {
    severity: 'warning',
    why: 'After a crash of PostgreSQL, changes can be missing that the device service has confirmed.',
    fix: 'Turn the setting on.',
  },
  database_not_encrypted: {
    severity: 'warning',
    why: 'Others in the network can read and change devices and their logs.',
    fix: 'Enable ssl in PostgreSQL, and add ?sslmode=verify-full to DATABASE_URL.',
  },
  database_connections_short: {
    severity: 'warning',
    why: 'A device service without a connection answers 503. An upgrade needs the connections of two.',
    fix: 'Raise max_connections of PostgreSQL, and restart it.',
  },
} as const satisfies Readonly<Record<string, FindingEntry>>;
