// requires: openssl curl
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canonicalText, parseParameters } from '@gatehouse/request-signature';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { digest, hmacLines } from './test-credentials.ts';

const page = readFileSync(
  fileURLToPath(new URL('../../../docs/signing.md', import.meta.url)),
  'utf8',
);

/** Language of the code block → file name and the program that runs it. */
const samples = {
  typescript: ['sample.ts', process.execPath],
  python: ['sample.py', 'python3'],
  java: ['Sample.java', 'java'],
  go: ['sample.go', 'go', 'run'],
  sh: ['sample.sh', 'sh'],
} as const;

const languages = Object.keys(samples) as (keyof typeof samples)[];

/** Languages that are not installed are not tested, but their samples must exist. */
const runnable = languages.filter((language) => {
  const [, program] = samples[language];
  return spawnSync(program, [program === 'go' ? 'version' : '--version']).error === undefined;
});

let booted: BootedGateway;
let directory: string;

beforeAll(async () => {
  booted = await bootGateway();
  await booted.saveClient(
    { clientId: 'modern', signatureAlgorithm: 'HMAC-SHA-256' },
    booted.secureKey,
  );
});
afterAll(() => closeUnharmed(booted));
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signing-sample-'));
  booted.upstream.requests.length = 0;
});

/** The first sample in a language is of version 2, the second of version 1. */
function sampleIn(language: string, version: number): string {
  const samplesOnly = page.slice(page.indexOf('\n## Samples\n'));
  const fences = samplesOnly.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'));
  const found = [...fences][2 - version]?.[1];
  if (found === undefined) {
    throw new Error(`docs/signing.md has no sample of version ${version} in ${language}.`);
  }
  return found;
}

function run(
  language: keyof typeof samples,
  version: number,
  secureKey = booted.secureKey,
): Promise<string> {
  const [file, program, ...parameters] = samples[language];
  writeFileSync(join(directory, file), sampleIn(language, version));
  const child = spawn(program, [...parameters, file], {
    cwd: directory,
    env: {
      ...process.env,
      GATEWAY_URL: `http://127.0.0.1:${booted.port}`,
      // The second client may use version 2 only.
      CLIENT_ID: version === 1 ? booted.clientId : 'modern',
      SECURE_KEY: secureKey,
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
  test.each(languages)('has a sample in %s for each version', (language) => {
    expect(sampleIn(language, 1)).toMatch(/X-Sign\b(?!-V2)/);
    expect(sampleIn(language, 2)).toContain('X-Sign-V2');
  });

  test.each(runnable.flatMap((language) => [[language, 1] as const, [language, 2] as const]))(
    'SG-01 SG-19 RS-01 has a sample in %s of version %d that signs and verifies',
    async (language, version) => {
      const output = await run(language, version);
      expect(output.replace(/.*ExperimentalWarning[\s\S]*?\n\n?/g, '')).toBe('200\n200\n');
      const [read, created] = booted.upstream.requests;
      const query = parseParameters(new URL(`http://g${read?.url}`).search.slice(1));
      expect(canonicalText(query)).toBe('pageIndex=0&pageSize=20&where=name like %张三%');
      expect(JSON.parse(created?.body.toString() ?? '')).toMatchObject({ productId: 'p1' });
      rmSync(directory, { recursive: true });
    },
    60_000,
  );

  test.each(runnable.flatMap((language) => [[language, 1] as const, [language, 2] as const]))(
    'has a sample in %s of version %d that prints the rejection before it complains about the reply',
    async (language, version) => {
      const output = await run(language, version, `${booted.secureKey}\n`);
      const rejection = output.indexOf('401 {');
      expect(rejection).toBeGreaterThan(-1);
      expect(output.indexOf('"cause":"key_whitespace"')).toBeGreaterThan(rejection);
      expect(output.search(/the reply is not signed by the gateway/i)).toBeGreaterThan(rejection);
      expect(output).not.toMatch(/^200$/m);
      rmSync(directory, { recursive: true });
    },
    60_000,
  );

  test('SG-01 shows correct digests', () => {
    const parts = ['pageIndex=0&pageSize=20', '1574993804802', 'testSecure'];
    expect(page).toContain(parts.join(''));
    expect(page).toContain(digest('MD5', ...parts));
    expect(page).toContain(digest('SHA-256', ...parts));
  });

  test('SG-19 shows a correct signature of version 2', () => {
    const lines = /```\n(GATEHOUSE-V2\n[^`]*)\n```/.exec(page)?.[1] ?? '';
    const parts = lines.split('\n');
    expect(parts).toHaveLength(9);
    expect(parts[5]).toBe(digest('SHA-256', ''));
    expect(page).toContain(`\`${hmacLines('testSecure-0123456789', ...parts)}\``);
  });

  test('shows correct signed texts', () => {
    const rows = [...page.matchAll(/^\| `([^`]+=[^`]*)` \| `([^`]+)` \|$/gm)];
    expect(rows.length).toBeGreaterThan(3);
    for (const [, query = '', text] of rows) {
      expect(canonicalText(parseParameters(query))).toBe(text);
    }
  });
});
