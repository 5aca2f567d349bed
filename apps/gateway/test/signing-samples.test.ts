// requires: openssl curl
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canonicalText, parseParameters } from '@gatehouse/request-signature';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { digest } from './test-credentials.ts';

const page = readFileSync(
  fileURLToPath(new URL('../../../docs/signing.md', import.meta.url)),
  'utf8',
);

/** Fence language → file name and the program that runs it. */
const samples = {
  typescript: ['sample.ts', process.execPath],
  python: ['sample.py', 'python3'],
  java: ['Sample.java', 'java'],
  go: ['sample.go', 'go', 'run'],
  sh: ['sample.sh', 'sh'],
} as const;

const languages = Object.keys(samples) as (keyof typeof samples)[];

/** A language that this machine does not have is not tested here; its sample must be there all the same. */
const runnable = languages.filter((language) => {
  const [, program] = samples[language];
  return spawnSync(program, [program === 'go' ? 'version' : '--version']).error === undefined;
});

let booted: BootedGateway;
let directory: string;

beforeAll(async () => {
  booted = await bootGateway();
});
afterAll(() => closeUnharmed(booted));
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signing-sample-'));
  booted.upstream.requests.length = 0;
});

function sampleIn(language: string): string {
  const found = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1];
  if (found === undefined) {
    throw new Error(`docs/signing.md has no sample in ${language}.`);
  }
  return found;
}

function run(language: keyof typeof samples): Promise<string> {
  const [file, program, ...parameters] = samples[language];
  writeFileSync(join(directory, file), sampleIn(language));
  const child = spawn(program, [...parameters, file], {
    cwd: directory,
    env: {
      ...process.env,
      GATEWAY_URL: `http://127.0.0.1:${booted.port}`,
      CLIENT_ID: booted.clientId,
      SECURE_KEY: booted.secureKey,
    },
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve) => child.on('close', () => resolve(output)));
}

describe('docs/signing.md', () => {
  it.each(languages)('has a sample in %s', (language) => {
    expect(sampleIn(language)).toContain('SECURE_KEY');
  });

  it.each(runnable)(
    'SG-01 RS-01 has a sample in %s that signs and verifies',
    async (language) => {
      const output = await run(language);
      expect(output.replace(/.*ExperimentalWarning[\s\S]*?\n\n?/g, '')).toBe('200\n200\n');
      const [read, created] = booted.upstream.requests;
      const query = parseParameters(new URL(`http://g${read?.url}`).search.slice(1));
      expect(canonicalText(query)).toBe('pageIndex=0&pageSize=20&where=name like %张三%');
      expect(JSON.parse(created?.body.toString() ?? '')).toMatchObject({ productId: 'p1' });
      rmSync(directory, { recursive: true });
    },
    60_000,
  );

  it('SG-01 shows digests that are right', () => {
    const parts = ['pageIndex=0&pageSize=20', '1574993804802', 'testSecure'];
    expect(page).toContain(parts.join(''));
    expect(page).toContain(digest('MD5', ...parts));
    expect(page).toContain(digest('SHA-256', ...parts));
  });

  it('shows signed texts that are right', () => {
    const rows = [...page.matchAll(/^\| `([^`]+=[^`]*)` \| `([^`]+)` \|$/gm)];
    expect(rows.length).toBeGreaterThan(3);
    for (const [, query = '', text] of rows) {
      expect(canonicalText(parseParameters(query))).toBe(text);
    }
  });
});
