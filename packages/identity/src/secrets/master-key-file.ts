import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ConfigurationError, readOrCreateSecretFile } from '@gatehouse/server/configuration';
import {
  KEY_BYTES,
  type LastingKeys,
  lastingKeyOf,
  lastingPurposes,
  type MasterKeys,
} from './master-key.ts';

/**
 * The content of the file: the key that encrypts, and one labeled line for each other key.
 *
 *     5f1c…                     encrypts and decrypts
 *     next 07aa…                decrypts; the next rotation makes it the first key
 *     previous 93be…            decrypts; left from the last rotation
 *     credential-pepper c4d1…   derived from the first key of this installation
 *     refresh-successor 11e0…
 */
export interface MasterKeyFile {
  readonly current: Buffer;
  readonly next?: Buffer | undefined;
  readonly previous?: Buffer | undefined;
  readonly lasting: LastingKeys;
}

/** How long a process may use the keys before it looks at the file again. */
const RECHECK_MILLISECONDS = 1000;

/**
 * Reads the file, and reads it again after it has changed. A process uses the new content within a
 * second, and at once when it must decrypt something with a key that it does not have.
 *
 * @param create creates a missing file with mode 0600
 * @throws ConfigurationError
 */
export function loadMasterKey(path: string, create: boolean): MasterKeys {
  let stamp = stampOf(path);
  let file = parseMasterKeyFile(readKeyFile(path, create));
  let checkedAt = performance.now();
  let unusable: string | undefined;
  let report: (problem: string) => void = () => undefined;

  function refresh(): boolean {
    checkedAt = performance.now();
    const found = stampOf(path) ?? 'missing';
    if (found === stamp) {
      return false;
    }
    const changed = readChange(path, file);
    if (typeof changed === 'string') {
      if (found !== unusable) {
        unusable = found;
        report(changed);
      }
      return false;
    }
    stamp = found;
    unusable = undefined;
    file = changed;
    return true;
  }

  return {
    keys() {
      if (performance.now() - checkedAt >= RECHECK_MILLISECONDS) {
        refresh();
      }
      const others = [file.next, file.previous].filter((key) => key !== undefined);
      return [file.current, ...others];
    },
    refresh,
    get lasting() {
      return file.lasting;
    },
    onUnusable(listener) {
      report = listener;
    },
  };
}

/** @returns the changed keys, or why a running process cannot use them */
function readChange(path: string, before: MasterKeyFile): MasterKeyFile | string {
  const text = attempt(() => readFileSync(path, 'utf8'));
  if (text === undefined) {
    return 'it cannot be read';
  }
  const changed = attempt(() => parseMasterKeyFile(text));
  if (changed === undefined) {
    return 'it is malformed or incomplete';
  }
  // The file of another installation must not replace the keys of a running process.
  const isSame = lastingPurposes.every((each) =>
    lastingKeyOf(before, each).equals(lastingKeyOf(changed, each)),
  );
  return isSame ? changed : 'it belongs to another installation';
}

/** @throws ConfigurationError, which never quotes the content */
export function readMasterKeyFile(path: string): MasterKeyFile {
  return parseMasterKeyFile(readKeyFile(path, false));
}

/**
 * Replaces the file in one step, so that a crash leaves either the old or the new keys. Owner and
 * mode stay, so that servers that run as another user can still read it.
 *
 * @throws ConfigurationError if the file cannot be replaced. It is then unchanged
 */
export function writeMasterKeyFile(path: string, file: MasterKeyFile): void {
  const labeled = { next: file.next, previous: file.previous, ...file.lasting };
  const lines = Object.entries(labeled).flatMap(([label, key]) =>
    key === undefined ? [] : [`${label} ${key.toString('hex')}`],
  );
  const content = `${[file.current.toString('hex'), ...lines].join('\n')}\n`;
  try {
    replaceFile(realpathSync(path), content);
  } catch {
    throw refusal(
      'names a file that cannot be replaced. Run the command as its owner, in a writable folder',
    );
  }
}

export function generateMasterKey(): Buffer {
  return randomBytes(KEY_BYTES);
}

function parseMasterKeyFile(text: string): MasterKeyFile {
  const [first = '', ...rest] = text.trim().split(/\s*\n\s*/);
  const lines = rest.map((line) => /^([a-z-]+) ([0-9a-f]{64})$/i.exec(line));
  const labels = ['next', 'previous', ...lastingPurposes] as const;
  const isKnown = (label = '') => (labels as readonly string[]).includes(label);
  const areUnique = new Set(lines.map((line) => line?.[1])).size === lines.length;
  if (!/^[0-9a-f]{64}$/i.test(first) || !areUnique || !lines.every((line) => isKnown(line?.[1]))) {
    throw refusal('names a file that does not contain 64 hexadecimal digits');
  }
  const keyOf = (label: (typeof labels)[number]) => {
    const found = lines.find((line) => line?.[1] === label)?.[2];
    return found === undefined ? undefined : Buffer.from(found, 'hex');
  };
  const lasting = lastingPurposes.flatMap((purpose) => {
    const key = keyOf(purpose);
    return key === undefined ? [] : [[purpose, key]];
  });
  // A server without one of them would compute other hashes or tokens than the other servers.
  if (lines.length > 0 && lasting.length < lastingPurposes.length) {
    throw refusal(
      `names a file without its ${lastingPurposes.join(' and ')} lines. Copy the whole file`,
    );
  }
  return {
    current: Buffer.from(first, 'hex'),
    next: keyOf('next'),
    previous: keyOf('previous'),
    lasting: Object.fromEntries(lasting),
  };
}

function replaceFile(path: string, content: string): void {
  removeInterruptedWrites(path);
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  const { uid, gid, mode } = statSync(path);
  const descriptor = openSync(temporary, 'wx', 0o600);
  try {
    try {
      const own = fstatSync(descriptor);
      if (uid !== own.uid || gid !== own.gid) {
        fchownSync(descriptor, uid, gid);
      }
      fchmodSync(descriptor, mode & 0o777);
      writeSync(descriptor, content);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** A killed command leaves a file with every key. */
function removeInterruptedWrites(path: string): void {
  const start = `${basename(path)}.`;
  for (const name of readdirSync(dirname(path))) {
    if (name.startsWith(start) && /^[0-9a-f]{16}\.tmp$/.test(name.slice(start.length))) {
      rmSync(join(dirname(path), name), { force: true });
    }
  }
}

/** Changes whenever the file is replaced or written. */
function stampOf(path: string): string | undefined {
  const stats = attempt(() => statSync(path, { bigint: true }));
  return stats && `${stats.dev} ${stats.ino} ${stats.mtimeNs} ${stats.size}`;
}

function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function readKeyFile(path: string, create: boolean): string {
  try {
    return readOrCreateSecretFile(path, () => {
      if (!create) {
        throw refusal('names a file that does not exist');
      }
      return `${generateMasterKey().toString('hex')}\n`;
    });
  } catch (error) {
    throw error instanceof ConfigurationError
      ? error
      : refusal(`names a file that cannot be read${create ? ' or created' : ''}`);
  }
}

/** Does not quote the path, because an operator may set the variable to the key itself (CF-07). */
function refusal(message: string): ConfigurationError {
  return new ConfigurationError([{ name: 'MASTER_KEY_FILE', message }]);
}
