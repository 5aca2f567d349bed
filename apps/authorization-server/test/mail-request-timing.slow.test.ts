// requires: redis-server
// runs alone: it compares times

import { createPageVisitor, medianRatio, type VisitedPage } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { fromElsewhere, mailInstallation } from './mail-installation.ts';
import { startMailServer } from './mail-server.ts';
import { startServers } from './server.ts';

const SAMPLES = 150;
/** Generous, because other processes share the machine. */
const TOLERANCE = 0.25;

const mailServer = await startMailServer();
const { first } = await startServers({
  engine: 'redis',
  environment: {
    SMTP_URL: mailServer.url,
    MAIL_FROM: 'no-reply@example.com',
    TRUSTED_PROXIES: '127.0.0.1, ::1',
  },
  bootstrap: mailInstallation,
});

/** Submits the form once for each kind in turn, and compares the times with those of the first. */
async function compare(
  open: (visitor: ReturnType<typeof createPageVisitor>) => Promise<VisitedPage>,
  kinds: Readonly<Record<string, (sample: number) => Readonly<Record<string, string>>>>,
) {
  const visitor = createPageVisitor();
  const form = await open(visitor);
  const times: Record<string, number[]> = {};
  const sizes = new Set<number>();
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    for (const [kind, fieldsOf] of Object.entries(kinds)) {
      const started = performance.now();
      const reply = await visitor.submit(form, fieldsOf(sample), fromElsewhere());
      times[kind] = [...(times[kind] ?? []), performance.now() - started];
      expect(reply.status).toBe(303);
      sizes.add(reply.body.length);
    }
  }
  expect(sizes.size).toBe(1);
  const [reference = []] = Object.values(times);
  const ratios = Object.entries(times).map(
    ([kind, each]) => [kind, medianRatio(each, reference)] as const,
  );
  const differing = ratios.filter(([, ratio]) => Math.abs(ratio - 1) > TOLERANCE);
  expect([ratios, differing]).toEqual([ratios, []]);
}

test('a forgotten password takes the same time for every name', async () => {
  await compare((visitor) => visitor.get(`${first.issuer}/forgot-password`), {
    unknown: (sample) => ({ login: `nobody-${sample}` }),
    known: () => ({ login: 'dora' }),
    address: () => ({ login: 'erin@example.com' }),
    unverified: () => ({ login: 'alice' }),
    disabled: () => ({ login: 'gone' }),
  });
});

test('a registration takes the same time for every address', async () => {
  await compare(
    async (visitor) => visitor.get(`${(await first.openSignIn(visitor)).url}/create-account`),
    {
      unknown: (sample) => ({ email: `nobody-${sample}@example.com` }),
      known: () => ({ email: 'carol@example.com' }),
    },
  );
  await mailServer.stop();
});
