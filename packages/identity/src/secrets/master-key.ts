import { createHash, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { ConfigurationError, readOrCreateSecretFile } from '@gatehouse/server/configuration';

/**
 * The key outside the store from which all other keys are derived: 32 random bytes, or the keys of
 * a file that operators can rotate while the process runs.
 */
export type MasterKey = Buffer | MasterKeys;

/** Keys of one purpose. */
export interface RotatedKeys {
  /** The first key encrypts. All of them decrypt. */
  keys(): readonly [Buffer, ...Buffer[]];
  /** Reads the keys again. Returns whether they changed. */
  refresh(): boolean;
}

export type MasterKeys = ReturnType<typeof loadMasterKey>;

/**
 * Processes must agree on these at every moment, because they decide which record belongs to a
 * credential. A rotation therefore keeps them (docs/decisions/18-key-rotation.md).
 */
const lastingPurposes = ['credential-pepper', 'refresh-successor'] as const;

type LastingPurpose = (typeof lastingPurposes)[number];
export const KEY_BYTES = 32;

/**
 * HKDF-SHA-256 (RFC 5869), with a different key for each purpose.
 *
 * Node needs 7 to 13 µs longer for a key in a Buffer than for one that createSecretKey() imported,
 * here and in ciphers and HMACs. The import takes 1 µs (bench/sign-in/README.md).
 */
export function deriveKey(key: Buffer, purpose: string): Buffer {
  const imported = createSecretKey(key);
  return Buffer.from(hkdfSync('sha256', imported, '', `gatehouse:${purpose}`, KEY_BYTES));
}

/** The keys of one purpose, which change together with the master keys. */
export function deriveKeys(masterKey: MasterKey, purpose: string): RotatedKeys {
  const { keys, refresh } = toRotatedKeys(masterKey);
  return {
    keys: () => {
      const [first, ...others] = keys();
      return [deriveKey(first, purpose), ...others.map((key) => deriveKey(key, purpose))];
    },
    refresh,
  };
}

export function toRotatedKeys(key: Buffer | RotatedKeys): RotatedKeys {
  return Buffer.isBuffer(key) ? { keys: () => [key], refresh: () => false } : key;
}

/** The key of a purpose that outlives rotations. */
export function lastingKey(masterKey: MasterKey, purpose: LastingPurpose): Buffer {
  return Buffer.isBuffer(masterKey) ? deriveKey(masterKey, purpose) : masterKey.lasting[purpose];
}

/** Identifies a key in messages. Reveals nothing about the key. */
export function masterKeyId(key: Buffer): string {
  return createHash('sha256').update(deriveKey(key, 'key-id')).digest('hex').slice(0, 8);
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
export function loadMasterKey(path: string, create: boolean) {
  let text = readKeyFile(path, create);
  let file = parse(text);
  let checkedAt = performance.now();
  let report: (problem: string) => void = () => undefined;

  function refresh(): boolean {
    checkedAt = performance.now();
    const before = { text, file };
    try {
      text = '';
      text = readFileSync(path, 'utf8');
      const changed = text === before.text ? file : parse(text);
      // The file of another installation must not replace the keys of a running process.
      file = isDeepStrictEqual(changed.lasting, file.lasting) ? changed : parse('');
    } catch {
      if (text !== before.text) {
        report('it cannot be read, is incomplete, or belongs to another installation');
      }
    }
    return !isDeepStrictEqual(file, before.file);
  }

  return {
    keys(): readonly [Buffer, ...Buffer[]] {
      if (performance.now() - checkedAt >= RECHECK_MILLISECONDS) {
        refresh();
      }
      const others = [file.next, file.previous].filter((key) => key !== undefined);
      return [file.current, ...others];
    },
    refresh,
    /** The derived keys that a rotation keeps. */
    lasting: file.lasting,
    /** Reports once each changed file that the process cannot use. It continues with the old keys. */
    onUnusable(listener: typeof report) {
      report = listener;
    },
  };
}

/** @throws ConfigurationError, which never quotes the content */
export function readMasterKeyFile(path: string): MasterKeyFile {
  return parse(readKeyFile(path, false));
}

/**
 * Replaces the file in one step, so that a crash leaves either the old or the new keys, which both
 * decrypt every record. Owner and mode stay, so that servers that run as another user can still
 * read it.
 *
 * @throws ConfigurationError if the file cannot be replaced. It is then unchanged
 */
export function writeMasterKeyFile(path: string, file: MasterKeyFile): void {
  const { current, next, previous, lasting } = file;
  const lines = Object.entries({ next, previous, ...lasting }).flatMap(([label, key]) =>
    key === undefined ? [] : [`${label} ${key.toString('hex')}`],
  );
  const target = realpathSync(path);
  // One name, so that a killed command leaves no second copy of the keys.
  const temporary = `${target}.tmp`;
  try {
    rmSync(temporary, { force: true });
    const { uid, gid, mode } = statSync(target);
    const content = [current.toString('hex'), ...lines, ''].join('\n');
    writeFileSync(temporary, content, { mode: 0o600, flag: 'wx', flush: true });
    chownSync(temporary, uid, gid);
    chmodSync(temporary, mode & 0o777);
    renameSync(temporary, target);
  } catch {
    rmSync(temporary, { force: true });
    throw masterKeyProblem(
      'names a file that cannot be replaced. Run the command as its owner, in a writable folder',
    );
  }
}

export type MasterKeyFile = ReturnType<typeof parse>;

const LABELED_KEY = /^(next|previous|credential-pepper|refresh-successor) ([0-9a-fA-F]{64})$/;

/**
 * The content of the file: the key that encrypts, and one labeled line for each other key.
 *
 *     5f1c…                     encrypts and decrypts
 *     next 07aa…                decrypts; the rotation makes it the first key
 *     previous 93be…            decrypts; left from the last rotation
 *     credential-pepper c4d1…   derived from the first key of this installation
 *     refresh-successor 11e0…
 */
function parse(text: string) {
  const [first = '', ...labeled] = text.trim().split(/\s*\n\s*/);
  const found = labeled.map((line) => LABELED_KEY.exec(line)?.slice(1) ?? []);
  const keys = new Map(found.map(([label, key = '']) => [label, Buffer.from(key, 'hex')]));
  if (!/^[0-9a-f]{64}$/i.test(first) || keys.has(undefined) || keys.size < labeled.length) {
    throw masterKeyProblem('names a file that does not contain 64 hexadecimal digits');
  }
  // A server without one of them would compute other hashes or tokens than the other servers.
  if (labeled.length > 0 && !lastingPurposes.every((purpose) => keys.has(purpose))) {
    throw masterKeyProblem(
      `names a file without its ${lastingPurposes.join(' and ')} lines. Copy the whole file`,
    );
  }
  const current = Buffer.from(first, 'hex');
  const lasting = Object.fromEntries(
    lastingPurposes.map((purpose) => [purpose, keys.get(purpose) ?? deriveKey(current, purpose)]),
  ) as Readonly<Record<LastingPurpose, Buffer>>;
  return { current, next: keys.get('next'), previous: keys.get('previous'), lasting };
}

function readKeyFile(path: string, create: boolean): string {
  const createContent = () => `${randomBytes(KEY_BYTES).toString('hex')}\n`;
  try {
    return create ? readOrCreateSecretFile(path, createContent) : readFileSync(path, 'utf8');
  } catch (error) {
    const verb = create ? 'cannot be read or created' : 'cannot be read';
    const isMissing = !create && (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw masterKeyProblem(`names a file that ${isMissing ? 'does not exist' : verb}`);
  }
}

/** Does not quote the path, because an operator may set the variable to the key itself. */
export function masterKeyProblem(message: string): ConfigurationError {
  return new ConfigurationError([{ name: 'MASTER_KEY_FILE', message }]);
}
