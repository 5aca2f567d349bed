import { existsSync, type StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { identitySecretFiles } from '@gatehouse/identity';
import { inspectFileAccess, secretFilesOf } from '@gatehouse/server/configuration';
import { type DatabaseFile, databaseFiles } from '../database-files.ts';
import { type Finding, finding } from '../finding.ts';
import type { Installation } from '../installation.ts';

const MINIMUM_FREE_SHARE = 0.1;
const MINIMUM_FREE_BYTES = 1024 ** 3;
const MEBIBYTE = 1024 ** 2;
/** The types that statfs returns on Linux: NFS, and three versions of SMB. */
const networkFileSystems: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42]);

type ReadDisk = (path: string) => Promise<StatsFs>;

/**
 * Permissions of the secrets and databases, and the room on their disks.
 *
 * @param corrects removes other users' access to files that Gatehouse created
 * @param readDisk reads the state of the file system that contains a path
 */
export async function checkFiles(
  {
    environment,
    variables,
    dataDirectory,
  }: Pick<Installation, 'environment' | 'variables' | 'dataDirectory'>,
  corrects = false,
  readDisk: ReadDisk = statfs,
): Promise<readonly Finding[]> {
  const databases = databaseFiles(variables);
  const usesDataDirectory = databases.some(({ variable }) => variable === 'DATA_DIR');
  const { warnings } = inspectFileAccess({
    files: [
      ...identitySecretFiles(environment),
      ...secretFilesOf(environment, ['COOKIE_KEYS_FILE', 'DATABASE_URL_FILE']),
      ...databases.flatMap(filesOf),
    ],
    dataDirectory: usesDataDirectory && existsSync(dataDirectory) ? dataDirectory : undefined,
    publicUrl: undefined,
    corrects,
  });
  const variablesOfFolders = Map.groupBy(databases, ({ path }) => dirname(path));
  const folders = [...variablesOfFolders].filter(([folder]) => existsSync(folder));
  const disks = await Promise.all(
    folders.map(([folder, inside]) =>
      checkDisk(folder, new Set(inside.map(({ variable }) => variable)), readDisk),
    ),
  );
  return [...warnings.map((what) => finding('file_exposed', what)), ...disks.flat()];
}

/** SQLite keeps new records in the second file, and locks in the third. */
function filesOf({ variable, path }: DatabaseFile) {
  return variable === 'DATA_DIR'
    ? []
    : ['', '-wal', '-shm'].map((ending) => ({ name: variable, path: `${path}${ending}` }));
}

async function checkDisk(
  folder: string,
  variables: ReadonlySet<string>,
  readDisk: ReadDisk,
): Promise<readonly Finding[]> {
  const { type, bavail, blocks, bsize } = await readDisk(folder);
  const isEnough = bavail / blocks >= MINIMUM_FREE_SHARE && bavail * bsize >= MINIMUM_FREE_BYTES;
  const share = Math.floor((bavail / blocks) * 100);
  const mebibytes = Math.floor((bavail * bsize) / MEBIBYTE);
  const place = `${folder} (${[...variables].join(', ')})`;
  return [
    ...(process.platform === 'linux' && networkFileSystems.has(type)
      ? [finding('data_on_network_disk', `${place} is on a network file system.`)]
      : []),
    ...(isEnough
      ? []
      : [
          finding(
            'disk_nearly_full',
            `The disk of ${place} has ${mebibytes} MiB (${share} %) left.`,
          ),
        ]),
  ];
}
