// requires: redis-server
// runs alone: it compares times

/** Nobody learns from text, size or time of a reply whether an account exists. */
import { createPageVisitor, medianRatio, type VisitedPage } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { fromElsewhere, password, startMailSystems } from './mail-installation.ts';

const SAMPLES = 150;
/** Generous, because other processes share the machine. */
const TOLERANCE = 0.25;

type Ask = (sample: number) => Promise<VisitedPage>;

/** Asks once for each kind in turn, and compares the replies with those of the first. */
async function compare(status: number, kinds: Readonly<Record<string, Ask>>) {
  const times: Record<string, number[]> = {};
  const replies = new Set<string>();
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    for (const [kind, ask] of Object.entries(kinds)) {
      const started = performance.now();
      const reply = await ask(sample);
      times[kind] = [...(times[kind] ?? []), performance.now() - started];
      const { headers, location = '', body } = reply;
      const seen = [reply.status, [...headers.keys()].sort(), location, body, body.length];
      replies.add(JSON.stringify(seen).replace(/[\w-]{36,43}/g, ''));
    }
  }
  expect([...replies]).toEqual([expect.stringContaining(`[${status},`)]);
  const [reference = []] = Object.values(times);
  const ratios = Object.entries(times).map(
    ([kind, each]) => [kind, medianRatio(each, reference)] as const,
  );
  const differing = ratios.filter(([, ratio]) => Math.abs(ratio - 1) > TOLERANCE);
  expect([ratios, differing]).toEqual([ratios, []]);
}

describe.each(await startMailSystems())('on $engine', ({ system }) => {
  const { identity } = system;
  const { issuer, openSignIn } = system.first;
  const visitor = createPageVisitor();
  const submit = (form: VisitedPage, fields: Readonly<Record<string, string>>) =>
    visitor.submit(form, fields, fromElsewhere());

  test('a forgotten password gets the same reply for every name', async () => {
    const form = await visitor.get(`${issuer}/forgot-password`);
    await compare(303, {
      unknown: (sample) => submit(form, { login: `nobody-${sample}` }),
      known: () => submit(form, { login: 'dora' }),
      address: () => submit(form, { login: 'erin@example.com' }),
      unverified: () => submit(form, { login: 'alice' }),
      disabled: () => submit(form, { login: 'gone' }),
    });
  });

  test('a registration gets the same reply for every address', async () => {
    const form = await visitor.get(`${(await openSignIn(visitor)).url}/create-account`);
    await compare(303, {
      unknown: (sample) => submit(form, { email: `nobody-${sample}@example.com` }),
      known: () => submit(form, { email: 'carol@example.com' }),
    });
  });

  test('an invitation whose address has an account is like one that does not exist', async () => {
    const email = 'late@example.com';
    const link = { kind: 'invite', orgId: 'org-1', email } as const;
    // One link has a limit of attempts.
    const tokens = await Promise.all(
      Array.from({ length: SAMPLES / 10 }, () => identity.actionLinks.issue(link)),
    );
    const known = (sample: number) => tokens[sample % tokens.length] ?? '';
    const open = (token: string) => visitor.get(`${issuer}/create-account?token=${token}`);
    const form = await open(known(0));
    expect(form.status).toBe(200);
    await identity.users.add({
      ...{ username: 'late', name: 'Late', orgId: 'org-1', roles: [] },
      ...{ email, emailVerified: true, passwordHash: '' },
    });
    const unknown = (sample: number) => `${sample}`.padStart(known(0).length, 'x');
    await compare(400, {
      unknown: (sample) => open(unknown(sample)),
      known: (sample) => open(known(sample)),
    });
    const create = (token: string) =>
      submit(form, { token, username: 'later', name: 'Late', ...password });
    await compare(400, {
      unknown: (sample) => create(unknown(sample)),
      known: (sample) => create(known(sample)),
    });
  });
});
