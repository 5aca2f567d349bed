// requires: openssl python3
/**
 * Signers in five languages make known mistakes. The reply must name the right cause for at least
 * 95 % of them. Languages that are not installed are skipped and listed.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send } from './http-client.ts';
import type { Corpus, Mistake } from './signing-mistake.ts';
import { version1Mistakes } from './version-1-mistakes.ts';
import { version2Mistakes } from './version-2-mistakes.ts';

const mistakes = [...version1Mistakes, ...version2Mistakes];

/** Language → the program that must exist, and how to build and run its signer. */
const signers: Readonly<Record<string, { probe: string; build?: string; run: string }>> = {
  'curl and openssl': { probe: 'openssl version', run: 'sh signer.sh' },
  Python: { probe: 'python3 --version', run: 'python3 signer.py' },
  Go: {
    probe: 'go version',
    build: 'GO111MODULE=off go build -o signer-go signer.go',
    run: './signer-go',
  },
  Java: { probe: 'java --version', run: 'java Signer.java' },
  C: { probe: 'cc --version', build: 'cc -o signer-c signer.c -l crypto', run: './signer-c' },
};

const REQUIRED_SHARE = 0.95;
/** More than a window of the budget of diagnoses. */
const STEP_MILLISECONDS = 61_000;

const directory = mkdtempSync(join(tmpdir(), 'signers-'));
let booted: BootedGateway;
let corpus: Corpus;
let now = Date.now();

function shell(command: string, input = '') {
  return spawnSync('sh', ['-c', command], { cwd: directory, input, encoding: 'utf8' });
}

const installed = Object.entries(signers).filter(([, { probe }]) => shell(probe).status === 0);

beforeAll(async () => {
  cpSync(join(import.meta.dirname, 'signers'), directory, { recursive: true });
  booted = await bootGateway({ now: () => now });
  const secureKey = 'the secure key of a careless client';
  await booted.saveClient({ clientId: 'careless' }, secureKey);
  corpus = { clientId: 'careless', secureKey };
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await closeUnharmed(booted);
});

/** Returns the causes that the reply to each mistake names. */
async function diagnose(run: string): Promise<readonly string[]> {
  const start = now;
  const timeOf = (index: number) => String(start + (index + 1) * STEP_MILLISECONDS);
  const scenes = mistakes.map((mistake, index) => mistake.scene(corpus, timeOf(index)));
  const jobs = scenes.map(({ job }) =>
    [job.algorithm, job.encoding, job.key, ...job.parts]
      .map((field) => field.replaceAll('\n', '\\n').replaceAll('\r', '\\r'))
      .join('\t'),
  );
  const { stdout, stderr } = shell(run, `${jobs.join('\n')}\n`);
  const signatures = stdout.trimEnd().split('\n');
  expect([stderr, signatures.length]).toEqual([stderr, mistakes.length]);
  const causes: string[] = [];
  for (const [index, { method, target, headers, body, signatureHeader }] of scenes.entries()) {
    now = Number(timeOf(index));
    const reply = await send(booted.port, target, {
      method,
      headers: { ...headers, [signatureHeader]: signatures[index] ?? '' },
      ...(body === undefined ? {} : { body }),
    });
    const { cause = reply.json.code, alsoCauses = [] } = reply.json.result ?? {};
    causes.push([cause, ...alsoCauses].join(' and '));
  }
  return causes;
}

function isRight({ causes }: Mistake, found: string): boolean {
  return causes.includes(found);
}

describe('the reply to a mistaken signer', () => {
  test('covers at least 20 mistakes in each version', () => {
    for (const version of [1, 2]) {
      expect(mistakes.filter((each) => each.version === version).length).toBeGreaterThanOrEqual(20);
    }
  });

  test('names the right cause for at least 95 % of the mistakes', async () => {
    let right = 0;
    let all = 0;
    for (const [language, { build, run }] of installed) {
      const built = build === undefined ? undefined : shell(build);
      expect([language, built?.stderr ?? '', built?.status ?? 0]).toEqual([
        language,
        built?.stderr ?? '',
        0,
      ]);
      const found = await diagnose(run);
      const wrong = mistakes.flatMap((mistake, index) =>
        isRight(mistake, found[index] ?? '')
          ? []
          : [`version ${mistake.version}, ${mistake.name}: ${found[index]}`],
      );
      all += mistakes.length;
      right += mistakes.length - wrong.length;
      process.stdout.write(
        `${language}: ${mistakes.length - wrong.length} of ${mistakes.length}. Wrong: ${wrong.join('; ')}\n`,
      );
    }
    const missing = Object.keys(signers).filter(
      (name) => !installed.some(([each]) => each === name),
    );
    process.stdout.write(
      `The right cause for ${right} of ${all} mistakes (${((100 * right) / all).toFixed(1)} %). Not installed: ${missing.join(', ') || 'none'}\n`,
    );
    expect(right / all).toBeGreaterThanOrEqual(REQUIRED_SHARE);
  }, 300_000);
});
