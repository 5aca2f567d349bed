/** One user: what the account is, how it signs in, what it is signed in to, and what ends that. */
import { fill, foreignName, type Html, html, plainName, sentence } from '@gatehouse/server';
import { z } from 'zod';
import { type Act, act, type Outcome, type Screen, screen, type Visit } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { actForm, destroyLink } from '../view/forms.ts';
import {
  card,
  copyable,
  counted,
  definitions,
  number,
  status,
  table,
  tabs,
  time,
} from '../view/parts.ts';
import { auditTable } from './audit.ts';
import { logLinks } from './clients.ts';
import { organizationLink, USER_PATH, USERS_PATH, userState } from './users.ts';

const FAILURES = 10;
const tabName = z.enum(['overview', 'audit']);

const endingFields = z.object({ session: z.string().default(''), client: z.string().default('') });

type Data = Awaited<ReturnType<typeof load>>;

async function load({
  operators,
  parameters: { id: userId = '' },
  query,
}: Visit<{ readonly tab: z.output<typeof tabName>; readonly cursor?: string | undefined }>) {
  const isAudit = query.tab === 'audit';
  const [found, entries] = await Promise.all([
    operators.users.read(userId),
    operators.audit.list(
      isAudit
        ? { user: userId, cursor: query.cursor }
        : { user: userId, severities: ['alert', 'warning'], limit: FAILURES },
    ),
  ]);
  return { ...found, entries, isAudit };
}

export const user: Screen = screen({
  path: USER_PATH,
  requires: 'operator:read',
  query: z.object({ tab: tabName.default('overview'), cursor: z.string().optional() }),
  load,
  title: (data) => plainName(data.user.name),
  trail: (_data, { texts }) => [{ address: USERS_PATH, label: texts.users.title }],
  tools: (data, visit) =>
    html`${logLinks({ user: data.user.userId }, visit.texts)}${acts(data, visit)}`,
  view(data, visit) {
    const { users: texts } = visit.texts;
    const names = tabName.options.map((name) => ({ name, label: texts[name] }));
    const content = data.isAudit
      ? card(texts.audit, auditTable(data.entries, visit, texts.noEntries))
      : overview(data, visit);
    return html`${tabs(visit, texts.views, names)}${content}`;
  },
  acts: {
    unlock: changing('unlocked', ({ operators, operator }, id) =>
      operators.users.unlock(operator, id),
    ),
    enable: changing('saved', ({ operators, operator }, id) =>
      operators.users.change(operator, id, { enabled: true }),
    ),
    'reset-link': ending('resetLink', async ({ operators, operator, ...visit }, id) => {
      const { token } = await operators.users.issueResetLink(operator, id);
      const { issuer, path, texts } = visit;
      return {
        title: texts.users.linkTitle,
        content: html`<section class="card confirm"><p>${texts.users.linkOnce}</p>
<p>${copyable(`${issuer}/reset-password?token=${token}`, texts.frame)}</p>
<p class="actions"><a class="button" href="${path}">${texts.users.back}</a></p></section>`,
      };
    }),
    end: ending('endAll', async ({ operators, operator }, userId) => {
      await operators.tokens.revoke(operator, { userId });
      return { notice: 'ended' };
    }),
    'end-session': ending('endSession', async ({ operators, operator }, id, { session }) => {
      await operators.users.endSession(operator, id, session);
      return { notice: 'ended' };
    }),
    'end-access': ending('endAccess', async ({ operators, operator }, id, { client }) => {
      await operators.users.endGrants(operator, id, client);
      return { notice: 'ended' };
    }),
    'reset-factors': ending('resetFactors', async ({ operators, operator }, id) => {
      await operators.users.resetFactors(operator, id);
      return { notice: 'factorsReset' };
    }),
    disable: ending('disable', async ({ operators, operator }, id) => {
      await operators.users.change(operator, id, { enabled: false });
      return { notice: 'saved' };
    }),
    remove: ending('remove', async ({ operators, operator }, id) => {
      await operators.users.remove(operator, id);
      return { to: USERS_PATH, notice: 'removed' };
    }),
  },
});

function changing(
  notice: keyof Visit['texts']['notices'],
  run: (visit: Visit, userId: string) => Promise<unknown>,
): Act {
  return act({
    fields: z.object({}),
    async run(_fields, visit) {
      await run(visit, visit.parameters.id ?? '');
      return { notice };
    },
  });
}

/** An act that takes something away from the user, with what ends as its effect. */
function ending(
  name: `reset${'Link' | 'Factors'}` | `end${'All' | 'Session' | 'Access'}` | 'disable' | 'remove',
  run: (visit: Visit, userId: string, fields: z.output<typeof endingFields>) => Promise<Outcome>,
): Act {
  return act({
    fields: endingFields,
    async preview({ session, client }, { operators, parameters: { id: userId = '' } }) {
      const [found, effect] = await Promise.all([
        operators.users.read(userId),
        operators.tokens.previewRevocation({ userId }),
      ]);
      const ofSession = found.sessions.find(({ id }) => id === session)?.clientIds;
      const clients = (ofSession ?? effect.clientIds ?? []).length;
      return { found, effect, client, clients };
    },
    confirm({ found, effect: { tokens = 0, sessions = 0 }, client, clients }, { texts }) {
      const { [name]: button, counts } = texts.users;
      const { [`${name}Title` as const]: title, [`${name}Effect` as const]: effect } = texts.users;
      const { app, passkeys, recoveryCodes } = found.factors;
      const many = (count: number, forms: (typeof counts)[keyof typeof counts]) =>
        html`<strong>${counted(count, texts, forms)}</strong>`;
      return {
        title: fill(title, { name: plainName(found.user.name), client: plainName(client) }),
        effect: html`<p>${sentence(effect, {
          name: html`<strong>${foreignName(found.user.name)}</strong>`,
          client: html`<code translate="no">${plainName(client)}</code>`,
          tokens: many(tokens, counts.tokens),
          sessions: many(sessions, counts.sessions),
          clients: many(clients, counts.clients),
          factors: many((app ? 1 : 0) + passkeys.length, counts.factors),
          codes: many(recoveryCodes, counts.codes),
        })}</p>`,
        button,
      };
    },
    run: (fields, visit) => run(visit, visit.parameters.id ?? '', fields),
  });
}

function acts({ user: { enabled }, locks, factors }: Data, visit: Visit): Html {
  const { users: texts } = visit.texts;
  const hasFactors = factors.app !== undefined || factors.passkeys.length > 0;
  const link = (name: string, label: string) => destroyLink(visit, { act: name, label });
  return html`${locks.length > 0 ? actForm(visit, { act: 'unlock', button: texts.unlock }) : undefined}
${enabled ? destroyLink(visit, { act: 'reset-link', label: texts.resetLink, isDanger: false }) : actForm(visit, { act: 'enable', button: texts.enable })}
${hasFactors ? link('reset-factors', texts.resetFactors) : undefined}
${enabled ? link('disable', texts.disable) : undefined}
${link('remove', texts.remove)}`;
}

function overview(data: Data, visit: Visit): Html {
  const { users: texts } = visit.texts;
  return html`<div class="columns">${account(data, visit)}${signIn(data, visit)}</div>
${sessionCard(data, visit)}
${applicationCard(data, visit)}
${card(texts.failures, auditTable({ items: data.entries.items }, visit, texts.noFailures))}`;
}

function account({ user: found }: Data, visit: Visit): Html {
  const { users: texts, frame } = visit.texts;
  const { username, email, emailVerified: isVerified, roles, attributes } = found;
  const verified = isVerified ? status('good', texts.verified) : status('quiet', texts.unverified);
  return card(
    texts.account,
    definitions([
      [texts.state, userState(found, visit.texts)],
      [texts.username, foreignName(username)],
      [texts.id, copyable(found.userId, frame)],
      [texts.organization, organizationLink(found.orgId)],
      [texts.email, email && html`${foreignName(email)} ${verified}`],
      [texts.roles, roles.join(', ') || undefined],
      ...Object.entries(attributes).map(
        ([name, value]) => [name, plainName([value].flat().join(', '))] as const,
      ),
    ]),
  );
}

function signIn({ lastSignInAt, locks, factors }: Data, visit: Visit): Html {
  const { users: texts } = visit.texts;
  const { app, passkeys, recoveryCodes } = factors;
  const at = (seconds: number | undefined) =>
    seconds === undefined ? html`${texts.never}` : time(seconds * 1000, visit);
  const lines = (items: readonly Html[]) =>
    html`<div class="entry">${items.map((item) => html`<div>${item}</div>`)}</div>`;
  return card(
    texts.signIn,
    definitions([
      [texts.lastSignIn, at(lastSignInAt)],
      [
        texts.locks,
        locks.length === 0
          ? texts.noLocks
          : lines(
              locks.map(
                ({ kind, until }) =>
                  html`${status('bad', texts.lockKinds[kind])} ${texts.until} ${time(until, visit)}`,
              ),
            ),
      ],
      [texts.app, app ? html`${texts.lastUse} ${at(app.lastUsedAt)}` : texts.none],
      [
        texts.passkeys,
        passkeys.length === 0
          ? texts.none
          : lines(
              passkeys.map(
                ({ name, lastUsedAt }) =>
                  html`${foreignName(name)} · ${texts.lastUse} ${at(lastUsedAt)}`,
              ),
            ),
      ],
      [texts.recoveryCodes, number(recoveryCodes, visit.texts)],
    ]),
  );
}

function sessionCard({ sessions, applications }: Data, visit: Visit): Html {
  const { users: texts } = visit.texts;
  return card(
    texts.sessions,
    table(visit, {
      caption: texts.sessions,
      columns: [
        {
          label: texts.browser,
          cell: ({ lastUse }) =>
            [lastUse?.browser, lastUse?.system].filter(Boolean).join(', ') || texts.unknown,
        },
        { label: texts.signedIn, cell: ({ signedInAt }) => time(signedInAt * 1000, visit) },
        {
          label: texts.lastUse,
          cell: ({ lastUse }) =>
            lastUse &&
            html`<div class="entry">${time(lastUse.at * 1000, visit)}<code translate="no">${lastUse.from}</code></div>`,
        },
        { label: texts.applications, cell: ({ clientIds }) => clientList(clientIds) },
        {
          label: texts.end,
          cell: ({ id: session }) =>
            destroyLink(visit, { act: 'end-session', label: texts.end, fields: { session } }),
        },
      ],
      rows: sessions,
      empty: texts.noSessions,
    }),
    sessions.length + applications.length === 0
      ? undefined
      : destroyLink(visit, { act: 'end', label: texts.endAll }),
  );
}

const clientList = (ids: readonly string[]): Html | undefined =>
  ids.length === 0
    ? undefined
    : html`<div class="entry">${ids.map((id) => html`<div>${clientLink(id)}</div>`)}</div>`;

const clientLink = (id: string): Html =>
  html`<a href="${pathTo('/clients/:id', { id })}"><code translate="no">${plainName(id)}</code></a>`;

function applicationCard({ applications }: Data, visit: Visit): Html {
  const { users: texts } = visit.texts;
  return card(
    texts.applications,
    table(visit, {
      caption: texts.applications,
      columns: [
        { label: texts.client, cell: ({ clientId }) => clientLink(clientId) },
        { label: texts.scopes, cell: ({ scope }) => scope || undefined },
        { label: texts.since, cell: ({ since }) => time(since * 1000, visit) },
        { label: texts.expires, cell: ({ expiresAt }) => time(expiresAt * 1000, visit) },
        {
          label: texts.end,
          cell: ({ clientId: client }) =>
            destroyLink(visit, { act: 'end-access', label: texts.end, fields: { client } }),
        },
      ],
      rows: applications,
      empty: texts.noApplications,
    }),
  );
}
