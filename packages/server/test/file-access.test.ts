import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  exposedFileProblem,
  inspectFileAccess,
  isExposed,
  restrictDataDirectory,
} from '../src/configuration/secret-files.ts';

let directory = '';

beforeEach(() => {
  directory = temporaryFolder();
});

function file(name: string, mode: number): string {
  const path = join(directory, name);
  writeFileSync(path, 'secret');
  chmodSync(path, mode);
  return path;
}

const modeOf = (path: string) => statSync(path).mode & 0o777;
/** A process of a user that does not own the files of this test. */
const foreigner = { user: statSync(import.meta.filename).uid + 4242, groups: [4242] };

describe('a file with secrets that an operator names', () => {
  test.each(['0600', '0400', '0700'])('is accepted with mode %s', (mode) => {
    const path = file('key', Number.parseInt(mode, 8));
    expect(exposedFileProblem({ name: 'KEY', path })).toBeUndefined();
  });

  test.each([
    ['0604', 'other users can access (mode 0604)'],
    ['0644', 'other users can access (mode 0644)'],
    ['0602', 'other users can access (mode 0602)'],
    ['0666', 'other users can access (mode 0666)'],
    ['0660', 'other users can access (mode 0660)'],
  ])('is reported with mode %s, with a command that corrects it', (mode, exposure) => {
    const path = file('key', Number.parseInt(mode, 8));
    const problem = exposedFileProblem({ name: 'KEY', path });
    expect(problem?.name).toBe('KEY');
    expect(problem?.message).toContain('names a file with secrets that ');
    expect(problem?.message).toContain(`${exposure}. Run: chmod 600 ${path}`);
    chmodSync(path, 0o600);
    expect(exposedFileProblem({ name: 'KEY', path })).toBeUndefined();
  });

  test('of another user gets a command that changes its owner, so that it stays readable', () => {
    const path = file("it's a key", 0o644);
    const quoted = `'${path.replace("it's", "it'\\''s")}'`;
    expect(exposedFileProblem({ name: 'KEY', path }, foreigner)?.message).toContain(
      `Run: chown ${foreigner.user} ${quoted} && chmod 600 ${quoted}`,
    );
  });

  test('is not reported if it is a folder, a pipe, or missing', () => {
    chmodSync(directory, 0o755);
    for (const path of [directory, join(directory, 'missing'), '/dev/null', 'x'.repeat(5000)]) {
      expect(exposedFileProblem({ name: 'KEY', path })).toBeUndefined();
    }
  });

  test.each([
    ['0640', 0, 1000, 1000, false],
    ['0440', 0, 1000, 1000, false],
    ['0660', 0, 1000, 1000, true],
    ['0640', 0, 7, 1000, true],
    ['0640', 1000, 1000, 1000, true],
    ['0644', 0, 1000, 1000, true],
    ['0640', 0, 7, 0, false],
    ['0660', 0, 7, 0, true],
    ['0640', 1000, 1000, 0, true],
  ])(
    'with mode %s, owner %i and group %i is exposed to reader %i: %s',
    (mode, uid, gid, user, exposed) => {
      const stats = { mode: Number.parseInt(mode, 8), uid, gid };
      expect(isExposed(stats, { user, groups: [user] })).toBe(exposed);
    },
  );

  test('of root and a group stays readable for the group', () => {
    const path = join(directory, 'group.key');
    writeFileSync(path, 'secret');
    chownSync(path, 0, 7);
    chmodSync(path, 0o664);
    const problem = exposedFileProblem({ name: 'KEY', path }, { user: 0, groups: [0] });
    expect(problem?.message).toContain(`Run: chmod 640 ${path}`);
  });
});

test('a file on a read-only mount is accepted with any mode', () => {
  const secret = { name: 'KEY', path: file('key', 0o644) };
  expect(exposedFileProblem(secret, foreigner, () => true)).toBeUndefined();
  expect(exposedFileProblem(secret, foreigner, () => false)).toMatchObject({ name: 'KEY' });
});

describe('DATA_DIR', () => {
  const own = [
    'master.key',
    'cookie.keys',
    'demo.json',
    'gatehouse.sqlite',
    'gatehouse.sqlite-wal',
  ];

  test('and files of apps in it lose the access of other users, with a warning', () => {
    const files = [...own, 'devices.sqlite', 'devices.sqlite-shm'].map((name) => file(name, 0o644));
    chmodSync(directory, 0o755);
    const { corrected, problems } = restrictDataDirectory(directory);
    expect(files.map(modeOf)).toEqual(files.map(() => 0o600));
    expect(modeOf(directory)).toBe(0o700);
    expect(problems).toEqual([]);
    expect(corrected).toHaveLength(files.length + 1);
    expect(corrected).toContain(
      `DATA_DIR: other users had access to ${directory} (mode 0755). Its mode is now 0700.`,
    );
    expect(restrictDataDirectory(directory)).toEqual({ corrected: [], problems: [] });
  });

  test('keeps its mode if it contains other files, which stay unchanged', () => {
    const other = file('report.txt', 0o644);
    const key = file('master.key', 0o640);
    chmodSync(directory, 0o755);
    const { corrected, problems } = restrictDataDirectory(directory);
    expect([directory, other, key].map(modeOf)).toEqual([0o755, 0o644, 0o600]);
    expect([corrected.length, problems]).toEqual([1, []]);
  });

  test('is a problem if other users could replace the keys', () => {
    file('report.txt', 0o644);
    chmodSync(directory, 0o1777);
    const [problem] = restrictDataDirectory(directory).problems;
    expect(problem).toMatchObject({ name: 'DATA_DIR' });
    expect(problem?.message).toContain('other users can change (mode 0777)');
    expect(problem?.message).toContain(`run: chmod go-w ${directory}`);
    expect(modeOf(directory)).toBe(0o777);
  });

  test('of another user stays unchanged, and its exposed files are problems', () => {
    const key = file('master.key', 0o644);
    chmodSync(directory, 0o755);
    const { corrected, problems } = restrictDataDirectory(directory, foreigner);
    expect([modeOf(directory), modeOf(key), corrected]).toEqual([0o755, 0o644, []]);
    expect(problems).toEqual([
      { name: 'DATA_DIR', message: expect.stringContaining(`chmod 600 ${key}`) },
    ]);
  });
});

describe('a file that other users can read', () => {
  const inspect = (publicUrl: string | undefined) =>
    inspectFileAccess({
      files: [{ name: 'KEY', path: file('key', 0o644) }],
      dataDirectory: undefined,
      publicUrl,
    });

  test('prevents a start on a public address', () => {
    const { problems, warnings } = inspect('https://auth.example');
    expect([problems.map(({ name }) => name), warnings]).toEqual([['KEY'], []]);
  });

  test.each(['http://localhost:9000', 'http://127.0.0.1', undefined])(
    'is a warning on %s',
    (url) => {
      const { problems, warnings } = inspect(url);
      expect([problems, warnings]).toEqual([[], [expect.stringMatching(/^KEY: names a file/)]]);
    },
  );

  test('is not a problem if a variable names the file that an app created in DATA_DIR', () => {
    const path = file('master.key', 0o644);
    const { problems, warnings } = inspectFileAccess({
      files: [{ name: 'MASTER_KEY_FILE', path }],
      dataDirectory: directory,
      publicUrl: 'https://auth.example',
    });
    expect([problems, warnings.length, modeOf(path)]).toEqual([[], 1, 0o600]);
  });
});

describe('the folder of a Unix socket', () => {
  const inspect = (mode: number, publicUrl: string) => {
    chmodSync(directory, mode);
    return inspectFileAccess({
      files: [],
      sockets: [{ name: 'GATEWAY_SOCKET', path: join(directory, 'gateway.sock') }],
      dataDirectory: undefined,
      publicUrl,
    });
  };

  test.each([0o777, 0o1777])('with mode %o prevents a start on a public address', (mode) => {
    const { problems } = inspect(mode, 'https://api.example');
    expect(problems).toEqual([
      {
        name: 'GATEWAY_SOCKET',
        message: expect.stringMatching(/^is in a folder that .* can change .* replace the socket/),
      },
    ]);
    expect(inspect(mode, 'http://localhost').warnings).toHaveLength(1);
  });

  test('is accepted if only its owner can write to it', () => {
    expect(inspect(0o755, 'https://api.example')).toEqual({ problems: [], warnings: [] });
  });
});
