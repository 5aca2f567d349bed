import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

/** A SQLite database of the installation. */
export interface DatabaseFile {
  /** The variable that decides where it is. */
  readonly variable: 'DATA_DIR' | 'STORE_URL' | 'DATABASE_URL';
  /** Behind symbolic links. The file can be missing. */
  readonly path: string;
}

interface Variables {
  readonly DATA_DIR: string;
  readonly STORE_URL?: string | undefined;
  readonly DATABASE_URL?: string | undefined;
}

/**
 * The databases that the apps of this machine use. Without `STORE_URL` and `DATABASE_URL`, they are
 * in `DATA_DIR`. If only `DATABASE_URL` is missing, the device service may run on another machine,
 * so that its database counts if it exists.
 */
export function databaseFiles(variables: Variables): readonly DatabaseFile[] {
  const { DATA_DIR, STORE_URL, DATABASE_URL } = variables;
  const devices = join(DATA_DIR, 'devices.sqlite');
  return [
    ...(STORE_URL === undefined
      ? [{ variable: 'DATA_DIR' as const, path: join(DATA_DIR, 'gatehouse.sqlite') }]
      : named('STORE_URL', STORE_URL)),
    ...(DATABASE_URL === undefined
      ? [{ variable: 'DATA_DIR' as const, path: devices }].filter(({ path }) => existsSync(path))
      : named('DATABASE_URL', DATABASE_URL)),
  ].map(({ variable, path }) => ({
    variable,
    path: existsSync(path) ? realpathSync(path) : path,
  }));
}

function named(variable: 'STORE_URL' | 'DATABASE_URL', url: string): readonly DatabaseFile[] {
  const path = /^sqlite:(.+)$/.exec(url)?.[1];
  return path === undefined ? [] : [{ variable, path }];
}
