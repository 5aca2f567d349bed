/** One user: what the account is, how it signs in, what it is signed in to, and what ends that. */
import { foreignName, type Html, html, plainName } from '@gatehouse/server';
import { z } from 'zod';
import { type Act, type Outcome, type Screen, screen, type Visit } from '../frame/screen.ts';
import { actForm, destroyLink } from '../view/forms.ts';
import {
  card,
  clientLink,
  code,
  copyable,
  definitions,
  enabledState,
  entry,
  lastTime,
  lines,
  number,
  organizationLink,
  status,
  tableCard,
  tabs,
  time,
} from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';
import { changing, ending, noting } from './acts.ts';
import { auditTable } from './audit.ts';
import { logLinks } from './clients.ts';
import { USER_PATH, USERS_PATH } from './users.ts';

const FAILURES = 10;
const tabName = z.enum(['overview', 'audit']);
const query = z.object({ tab: tabName.default('overview'), cursor: z.string().optional() });

type Data = Awaited<ReturnType<typeof load>>;

async function load(visit: Visit<z.output<typeof query>>) {
  const {
    operators,
    parameters: { id: userId = '' },
    query: { tab, cursor },
  } = visit;
  const isAudit = tab === 'audit';
  const [found, entries] = await Promise.all([
    operators.users.read(userId),
    operators.audit.list(
      isAudit
        ? { user: userId, cursor }
        : { user: userId, severities: ['alert', 'warning'], limit: FAILURES },
    ),
  ]);
  return { ...found, entries, isAudit };
}

export const user: Screen = screen({
  path: USER_PATH,
  query,
  load,
  title: (data) => plainName(data.user.name),
  trail: (_data, { texts }) => [{ address: USERS_PATH, label: texts.users.title }],
  tools: (data, visit) =>
    html`${logLinks({ user: data.user.userId }, visit.texts)}${acts(data, visit)}`,
  view(data, visit) {
    const names = tabName.options.map((name) => ({ name, label: visit.texts[name].title }));
    const content = data.isAudit
      ? card(visit.texts.audit.title, auditTable(data.entries, visit))
      : overview(data, visit);
    return html`${tabs(visit, visit.texts.common.views, names)}${content}`;
  },
  acts: {
    unlock: changing(({ operators, operator }, id) =>
      operators.users.unlock(operator, id).then(noting('unlocked')),
    ),
    enable: changing(({ operators, operator }, id) =>
      operators.users.change(operator, id, { enabled: true }).then(noting('saved')),
    ),
    'reset-link': endingOf('resetLink', async ({ operators, operator, ...visit }, id) => {
      const { token } = await operators.users.issueResetLink(operator, id);
      const { issuer, path, texts } = visit;
      return {
        title: texts.users.linkTitle,
        content: html`<section class="card confirm"><p>${texts.users.linkOnce}</p>
<p>${copyable(`${issuer}/reset-password?token=${token}`, texts.frame)}</p>
<p class="actions"><a class="button" href="${path}">${texts.users.back}</a></p></section>`,
      };
    }),
    end: endingOf('endAll', ({ operators, operator }, userId) =>
      operators.tokens.revoke(operator, { userId }).then(noting('ended')),
    ),
    'end-session': endingOf('endSession', ({ operators, operator }, id, { session }) =>
      operators.users.endSession(operator, id, session).then(noting('ended')),
    ),
    'end-access': endingOf('endAccess', ({ operators, operator }, id, { client }) =>
      operators.users.endGrants(operator, id, client).then(noting('ended')),
    ),
    'reset-factors': endingOf('resetFactors', ({ operators, operator }, id) =>
      operators.users.resetFactors(operator, id).then(noting('factorsReset')),
    ),
    disable: endingOf('disable', ({ operators, operator }, id) =>
      operators.users.change(operator, id, { enabled: false }).then(noting('saved')),
    ),
    remove: endingOf('remove', ({ operators, operator }, id) =>
      operators.users.remove(operator, id).then(noting('removed', USERS_PATH)),
    ),
  },
});

function endingOf(
  name: keyof Texts['users']['acts'],
  run: (
    visit: Visit,
    userId: string,
    fields: { readonly session: string; readonly client: string },
  ) => Promise<Outcome>,
): Act {
  return ending({
    fields: z.object({ session: z.string().default(''), client: z.string().default('') }),
    texts: ({ users }) => users.acts[name],
    async names({ session, client }, { operators }, userId) {
      const [{ user: found, factors, sessions }, effect] = await Promise.all([
        operators.users.read(userId),
        operators.tokens.previewRevocation({ userId }),
      ]);
      const ofSession = sessions.find(({ id }) => id === session)?.clientIds;
      return {
        ...{ name: found.name, client },
        ...{ tokens: effect.tokens ?? 0, sessions: effect.sessions ?? 0 },
        clients: (ofSession ?? effect.clientIds ?? []).length,
        factors: (factors.app ? 1 : 0) + factors.passkeys.length,
        codes: factors.recoveryCodes,
      };
    },
    run: (fields, visit, id) => run(visit, id, fields),
  });
}

function acts({ user: { enabled }, locks, factors }: Data, visit: Visit): Html {
  const { users: texts, common } = visit.texts;
  const hasFactors = factors.app !== undefined || factors.passkeys.length > 0;
  const { resetLink, resetFactors, disable, remove } = texts.acts;
  const link = (act: string, label: string, isDanger = true) =>
    destroyLink(visit, { act, label, isDanger });
  return html`${locks.length > 0 ? actForm(visit, { act: 'unlock', button: texts.unlock }) : undefined}
${enabled ? link('reset-link', resetLink.button, false) : actForm(visit, { act: 'enable', button: common.enable })}
${hasFactors ? link('reset-factors', resetFactors.button) : undefined}
${enabled ? link('disable', disable.button) : undefined}
${link('remove', remove.button)}`;
}

function overview(data: Data, visit: Visit): Html {
  const { users: texts } = visit.texts;
  return html`<div class="columns">${account(data, visit)}${signIn(data, visit)}</div>
${sessionCard(data, visit)}
${applicationCard(data, visit)}
${card(texts.failures, auditTable({ items: data.entries.items }, visit))}`;
}

function account({ user: found }: Data, visit: Visit): Html {
  const { users: texts, common, frame } = visit.texts;
  const { username, email, emailVerified: isVerified, roles, attributes } = found;
  const verified = isVerified ? status('good', texts.verified) : status('quiet', texts.unverified);
  return card(
    texts.account,
    definitions([
      [common.state, enabledState(found.enabled, visit.texts)],
      [common.username, foreignName(username)],
      [texts.id, copyable(found.userId, frame)],
      [common.organization, organizationLink(found.orgId)],
      [texts.email, email && html`${foreignName(email)} ${verified}`],
      [common.roles, roles.join(', ') || undefined],
      ...Object.entries(attributes).map(
        ([name, value]) => [name, plainName([value].flat().join(', '))] as const,
      ),
    ]),
  );
}

function signIn({ lastSignInAt, locks, factors }: Data, visit: Visit): Html {
  const { users: texts, common } = visit.texts;
  const { app, passkeys, recoveryCodes } = factors;
  const use = (at: number | undefined) => html`${common.lastUse} ${lastTime(at, visit)}`;
  const lockList = locks.map(
    ({ kind, until }) =>
      html`${status('bad', texts.lockKinds[kind])} ${texts.until} ${time(until, visit)}`,
  );
  const passkeyList = passkeys.map(
    ({ name, lastUsedAt }) => html`${foreignName(name)} · ${use(lastUsedAt)}`,
  );
  return card(
    texts.signIn,
    definitions([
      [texts.lastSignIn, lastTime(lastSignInAt, visit)],
      [texts.locks, lines(lockList) ?? texts.noLocks],
      [texts.app, app ? use(app.lastUsedAt) : common.none],
      [texts.passkeys, lines(passkeyList) ?? common.none],
      [texts.recoveryCodes, number(recoveryCodes, visit.texts)],
    ]),
  );
}

function sessionCard({ sessions, applications }: Data, visit: Visit): Html {
  const { users: texts, common } = visit.texts;
  return tableCard(
    visit,
    {
      caption: texts.sessions,
      columns: [
        {
          label: texts.browser,
          cell: ({ lastUse }) =>
            [lastUse?.browser, lastUse?.system].filter(Boolean).join(', ') || common.unknown,
        },
        { label: texts.signedIn, cell: ({ signedInAt }) => lastTime(signedInAt, visit) },
        {
          label: common.lastUse,
          cell: ({ lastUse }) => lastUse && entry(lastTime(lastUse.at, visit), code(lastUse.from)),
        },
        {
          label: texts.applications,
          cell: ({ clientIds }) => lines(clientIds.map((id) => clientLink(id))),
        },
        {
          label: texts.end,
          cell: ({ id: session }) =>
            destroyLink(visit, { act: 'end-session', label: texts.end, fields: { session } }),
        },
      ],
      rows: sessions,
      empty: texts.noSessions,
    },
    sessions.length + applications.length === 0
      ? undefined
      : destroyLink(visit, { act: 'end', label: texts.acts.endAll.button }),
  );
}

function applicationCard({ applications }: Data, visit: Visit): Html {
  const { users: texts, common } = visit.texts;
  return tableCard(visit, {
    caption: texts.applications,
    columns: [
      { label: common.client, cell: ({ clientId }) => clientLink(clientId) },
      { label: common.scopes, cell: ({ scope }) => scope || undefined },
      { label: texts.since, cell: ({ since }) => lastTime(since, visit) },
      { label: common.expires, cell: ({ expiresAt }) => lastTime(expiresAt, visit) },
      {
        label: texts.end,
        cell: ({ clientId: client }) =>
          destroyLink(visit, { act: 'end-access', label: texts.end, fields: { client } }),
      },
    ],
    rows: applications,
    empty: texts.noApplications,
  });
}
