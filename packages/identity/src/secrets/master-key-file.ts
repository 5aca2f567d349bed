import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
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
  let text: string | undefined = readKeyFile(path, create);
  let file = parseMasterKeyFile(text);
  let checkedAt = performance.now();
  let report: (problem: string) => void = () => undefined;

  function refresh(): boolean {
    checkedAt = performance.now();
    const found = attempt(() => readFileSync(path, 'utf8'));
    if (found === text) {
      return false;
    }
    text = found;
    const changed = attempt(() => parseMasterKeyFile(found ?? ''));
    // The file of another installation must not replace the keys of a running process.
    const isUsable = lastingPurposes.every(
      (each) => changed && lastingKeyOf(changed, each).equals(lastingKeyOf(file, each)),
    );
    if (changed === undefined || !isUsable) {
      report('it cannot be read, is incomplete, or belongs to another installation');
      return false;
    }
    const isChanged = JSON.stringify(changed) !== JSON.stringify(file);
    file = changed;
    return isChanged;
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
  const labels: readonly string[] = ['next', 'previous', ...lastingPurposes];
  const keys = new Map<string, Buffer>();
  for (const line of rest) {
    const [, label = '', key = ''] = /^([a-z-]+) ([0-9a-f]{64})$/i.exec(line) ?? [];
    if (labels.includes(label) && !keys.has(label)) {
      keys.set(label, Buffer.from(key, 'hex'));
    }
  }
  if (!/^[0-9a-f]{64}$/i.test(first) || keys.size < rest.length) {
    throw refusal('names a file that does not contain 64 hexadecimal digits');
  }
  const lasting = [...keys].filter(([label]) => label !== 'next' && label !== 'previous');
  // A server without one of them would compute other hashes or tokens than the other servers.
  if (rest.length > 0 && lasting.length < lastingPurposes.length) {
    throw refusal(
      `names a file without its ${lastingPurposes.join(' and ')} lines. Copy the whole file`,
    );
  }
  return {
    current: Buffer.from(first, 'hex'),
    next: keys.get('next'),
    previous: keys.get('previous'),
    lasting: Object.fromEntries(lasting),
  };
}

function replaceFile(path: string, content: string): void {
  // One name, so that a killed command leaves no second copy of the keys.
  const temporary = `${path}.tmp`;
  rmSync(temporary, { force: true });
  const { uid, gid, mode } = statSync(path);
  const descriptor = openSync(temporary, 'wx', 0o600);
  try {
    writeSync(descriptor, content);
    fsyncSync(descriptor);
    chownSync(temporary, uid, gid);
    chmodSync(temporary, mode & 0o777);
    renameSync(temporary, path);
  } finally {
    closeSync(descriptor);
    rmSync(temporary, { force: true });
  }
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
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
