import { existsSync, type StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { inspectFileAccess, secretFilesOf } from '@gatehouse/configuration';
import { identitySecretFiles } from '@gatehouse/identity';
import { type Finding, finding } from '../finding.ts';
import type { Installation } from '../installation.ts';

const MINIMUM_FREE_SHARE = 0.1;
const MINIMUM_FREE_BYTES = 1024 ** 3;
const MEBIBYTE = 1024 ** 2;
/** The types that statfs returns on Linux: NFS, and three versions of SMB. */
const networkFileSystems: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42]);

/** Permissions of the secrets, and the room on the disk. */
export async function checkFiles(installation: Installation): Promise<readonly Finding[]> {
  const { environment, embedded, dataDirectory } = installation;
  const { warnings } = inspectFileAccess({
    files: [
      ...identitySecretFiles(environment),
      ...secretFilesOf(environment, ['COOKIE_KEYS_FILE', 'DATABASE_URL_FILE']),
    ],
    dataDirectory: embedded && existsSync(dataDirectory) ? dataDirectory : undefined,
    publicUrl: undefined,
  });
  return [
    ...warnings.map((what) => finding('file_exposed', what)),
    ...(embedded && existsSync(dataDirectory) ? await checkDisk(dataDirectory) : []),
  ];
}

/** @param readDisk reads the state of the file system that contains a path */
export async function checkDisk(
  folder: string,
  readDisk: (path: string) => Promise<StatsFs> = statfs,
): Promise<readonly Finding[]> {
  const { type, bavail, blocks, bsize } = await readDisk(folder);
  const isEnough = bavail / blocks >= MINIMUM_FREE_SHARE && bavail * bsize >= MINIMUM_FREE_BYTES;
  const share = Math.floor((bavail / blocks) * 100);
  const mebibytes = Math.floor((bavail * bsize) / MEBIBYTE);
  return [
    ...(process.platform === 'linux' && networkFileSystems.has(type)
      ? [finding('data_on_network_disk', 'DATA_DIR is on a network file system.')]
      : []),
    ...(isEnough
      ? []
      : [
          finding(
            'disk_nearly_full',
            `The disk of DATA_DIR has ${mebibytes} MiB (${share} %) left.`,
          ),
        ]),
  ];
}
