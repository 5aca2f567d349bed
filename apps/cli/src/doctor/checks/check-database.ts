import { z } from 'zod';
import { type Finding, finding } from '../finding.ts';
import type { ProbeReply } from '../probe.ts';
import { checkClock } from './check-clock.ts';
import { checkEngineVersion } from './check-versions.ts';

/** The reply of the device service. Any program can listen on its port, so it is not trusted. */
const postgresReply = z.object({
  engine: z.literal('postgres'),
  version: z.string(),
  time: z.number(),
  /** A device service of an older version does not report it. */
  postgres: z
    .object({
      fsync: z.string(),
      fullPageWrites: z.string(),
      synchronousCommit: z.string(),
      connection: z.enum(['encrypted', 'local', 'unencrypted']),
      connections: z.object({ limit: z.number(), open: z.number(), pool: z.number() }),
    })
    .optional(),
});

type PostgresState = NonNullable<z.infer<typeof postgresReply>['postgres']>;

/** Version, clock and settings of PostgreSQL. An embedded database has those of this machine. */
export function checkDatabase({ text, at }: ProbeReply): readonly Finding[] {
  const { data } = postgresReply.safeParse(parse(text));
  return data === undefined
    ? []
    : [
        ...checkEngineVersion('PostgreSQL', data.version),
        ...checkClock('PostgreSQL', data.time, at),
        ...(data.postgres === undefined ? [] : checkSettings(data.postgres)),
      ];
}

function checkSettings(state: PostgresState): readonly Finding[] {
  const { limit, open, pool } = state.connections;
  const left = Math.max(limit - open, 0);
  return [
    ...checkDurability(state),
    ...(state.connection === 'unencrypted'
      ? [
          finding(
            'database_not_encrypted',
            'The device service reaches PostgreSQL over a network, without TLS.',
          ),
        ]
      : []),
    ...(left < pool
      ? [
          finding(
            'database_connections_short',
            `PostgreSQL has ${left} of ${limit} connections left. A device service opens up to ${pool}.`,
            `Raise max_connections of PostgreSQL by at least ${pool - left}, and restart it.`,
          ),
        ]
      : []),
  ];
}

function checkDurability({
  fsync,
  fullPageWrites,
  synchronousCommit,
}: PostgresState): readonly Finding[] {
  return [
    ...(fsync === 'off'
      ? [finding('database_can_be_damaged', 'PostgreSQL runs with fsync = off.', turnOn('fsync'))]
      : []),
    ...(fullPageWrites === 'off'
      ? [finding('database_pages_not_protected', 'PostgreSQL runs with full_page_writes = off.')]
      : []),
    ...(synchronousCommit === 'off'
      ? [
          finding(
            'database_may_lose_writes',
            'PostgreSQL runs with synchronous_commit = off.',
            `${turnOn('synchronous_commit')} Also remove it from the role and the database: ALTER ROLE … RESET synchronous_commit;`,
          ),
        ]
      : []),
  ];
}

function turnOn(setting: string): string {
  return `Run as a superuser: ALTER SYSTEM SET ${setting} = on; SELECT pg_reload_conf();`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
