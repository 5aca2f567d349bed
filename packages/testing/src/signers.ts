import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const folder = fileURLToPath(new URL('../../../examples/signers', import.meta.url));

interface Commands {
  /** Shell command that writes programs to the folder $OUT. */
  readonly build?: string;
  /** Signs and verifies jobs, one a line. */
  readonly driver: string;
  /** Calls a gateway. */
  readonly example: string;
}

/** Compiles the C signer with the sources that follow, with all warnings and sanitizers. */
export const sanitizedC = [
  'cc -std=c99 -g -O1 -Wall -Wextra -Werror -Wconversion',
  '-fsanitize=address,undefined -fno-sanitize-recover=all -Ic/include c/src/*.c',
].join(' ');

const languages = {
  go: {
    build: 'cd go && go vet ./... && go build -o "$OUT/" ./driver ./example',
    driver: '"$OUT/driver"',
    example: '"$OUT/example"',
  },
  java: {
    build: 'javac -Xlint:all -Werror -encoding UTF-8 -d "$OUT" java/*.java',
    driver: 'java -XX:TieredStopAtLevel=1 -cp "$OUT" Driver',
    example: 'java -XX:TieredStopAtLevel=1 -cp "$OUT" Example',
  },
  php: { driver: 'php php/driver.php', example: 'php php/example.php' },
  python: { driver: 'python3 python/driver.py', example: 'python3 python/example.py' },
  c: {
    build: `${sanitizedC} c/test/driver.c -o "$OUT/driver" && cc -std=c99 -Wall -Wextra -Werror -Ic/include c/src/*.c c/example.c -o "$OUT/example"`,
    driver: '"$OUT/driver"',
    example: '"$OUT/example"',
  },
} as const satisfies Readonly<Record<string, Commands>>;

export type SignerLanguage = keyof typeof languages;

export const signerLanguages = Object.keys(languages) as readonly SignerLanguage[];

/** A request, and optionally its reply. An absent header of a reply is null. */
export interface SignerJob {
  readonly version: 1 | 2;
  readonly digest?: string | undefined;
  readonly clientId: string;
  readonly secureKey: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly contentType: string;
  readonly body: Uint8Array;
  readonly timestamp: string;
  readonly nonce?: string | undefined;
  readonly reply?: {
    readonly status: number;
    readonly timestamp: string | null;
    readonly signature: string | null;
    readonly body: Uint8Array;
  };
}

export type ReferenceSigner = Awaited<ReturnType<typeof buildSigner>>;

/** Builds a signer of `examples/signers/`. @throws Error with the output of the compiler */
export async function buildSigner(language: SignerLanguage) {
  const out = mkdtempSync(join(tmpdir(), `signer-${language}-`));
  const { build, driver, example }: Commands = languages[language];

  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', OUT: out };

  function run(command: string, input = ''): string {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], {
      ...{ cwd: folder, env, input, encoding: 'utf8' },
      maxBuffer: 64 * 1024 * 1024,
    });
    if (status !== 0) {
      throw new Error(`${command}\n${stderr}`);
    }
    return stdout;
  }

  if (build !== undefined) {
    await promisify(execFile)('sh', ['-c', build], { cwd: folder, env });
  }
  return {
    /** Returns for each job a signature, `refused`, `valid` or `invalid`. */
    answer: (jobs: readonly SignerJob[]): readonly string[] =>
      run(driver, jobs.map(toLine).join('')).trimEnd().split('\n'),
    /** Resolves to what the example printed, and its exit code. */
    async runExample(environment: NodeJS.ProcessEnv, ...parameters: readonly string[]) {
      const command = [example, ...parameters].join(' ');
      const child = spawn('sh', ['-c', command], { cwd: folder, env: { ...env, ...environment } });
      const output: Buffer[] = [];
      child.stdout.on('data', (chunk) => output.push(chunk));
      child.stderr.on('data', (chunk) => output.push(chunk));
      const [status] = await once(child, 'close');
      return { output: Buffer.concat(output).toString(), status };
    },
    remove: () => rmSync(out, { recursive: true }),
  };
}

/** The fields in hexadecimal digits of their UTF-8, so that they may contain any character. */
function toLine({ reply, ...request }: SignerJob): string {
  const { version, digest = '', clientId, secureKey, method, path, query } = request;
  const fields = [String(version), digest, clientId, secureKey, method, path, query];
  const { contentType, body, timestamp, nonce = '' } = request;
  const all: readonly (string | Uint8Array | null)[] = [
    ...[...fields, contentType, body, timestamp, nonce],
    ...(reply ? [String(reply.status), reply.timestamp, reply.signature, reply.body] : []),
  ];
  return `${all.map((each) => (each === null ? '-' : Buffer.from(each as string).toString('hex'))).join('\t')}\n`;
}

interface SignatureVector {
  readonly name: string;
  readonly version: 1 | 2;
  /** Version 1 only. */
  readonly digest?: 'MD5' | 'SHA-256';
  readonly secureKey: string;
  /** Base64. */
  readonly body: string;
  /** Version 2 only. */
  readonly nonce?: string;
  /** The right signature. Null if a signer must not sign the request, or if a reply has none. */
  readonly signature: string | null;
}

export type RequestVector = SignatureVector &
  Readonly<Record<'clientId' | 'method' | 'path' | 'query' | 'contentType' | 'timestamp', string>>;

/** A request that the gateway rejects, and the reply. */
export interface RefusedRequestVector extends RequestVector {
  /** A secure key that the client had before. */
  readonly removedKey?: string;
  /** The time at the gateway, in epoch milliseconds. */
  readonly clock: number;
  /** The gateway accepts the first of two equal requests. */
  readonly sentTwice?: boolean;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly status: number;
  readonly code: string;
  /** A name in `packages/errors`. */
  readonly reason: string;
}

export interface ReplyVector extends SignatureVector {
  readonly requestTimestamp: string;
  readonly status: number;
  /** Null if the header is missing. */
  readonly timestamp: string | null;
  readonly isValid: boolean;
}

/** The test vectors that all signers share: `examples/signers/vectors.json`. */
export const signatureVectors: {
  readonly requests: readonly RequestVector[];
  readonly refusedRequests: readonly RefusedRequestVector[];
  readonly replies: readonly ReplyVector[];
} = JSON.parse(readFileSync(join(folder, 'vectors.json'), 'utf8'));
