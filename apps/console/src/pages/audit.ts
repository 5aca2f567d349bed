/** The audit trail: all trails in one list, with what each change did. */
import { auditEvents, auditSeverities, lastTimeOf } from '@gatehouse/identity';
import type { NamedEntry, Page } from '@gatehouse/operators';
import { foreignName, type Html, html, plainName } from '@gatehouse/server';
import { z } from 'zod';
import { AUDIT_EXPORT_PATH, auditQuery, toAuditQuery } from '../frame/exports.ts';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { addressWith, pathTo } from '../view/addresses.ts';
import { filterForm } from '../view/forms.ts';
import { card, number, status, type Tone, table, time } from '../view/parts.ts';

export const AUDIT_PATH = '/audit';

export const audit: Screen = screen({
  path: AUDIT_PATH,
  requires: 'operator:read',
  query: auditQuery.extend({ cursor: z.string().optional() }),
  load: ({ operators, query: { cursor, ...filters } }) =>
    operators.audit.list({ ...toAuditQuery(filters), cursor }),
  title: (_data, { texts }) => texts.audit.title,
  tools(_data, { texts, search }) {
    const address = addressWith({ path: AUDIT_EXPORT_PATH, search }, { cursor: undefined });
    return html`<a class="button" href="${address}" download>${texts.audit.export}</a>`;
  },
  view(page, visit) {
    const { audit: texts } = visit.texts;
    const choices = (names: readonly string[], labelOf = (name: string) => name) => [
      { value: '', label: texts.any },
      ...names.map((name) => ({ value: name, label: labelOf(name) })),
    ];
    const severityName = (name: string) => texts.severities[name as keyof typeof tones];
    return html`<p class="lead">${texts.lead}</p>
${filterForm(visit, [
  { name: 'user', label: texts.user },
  { name: 'clientId', label: texts.client },
  { name: 'orgId', label: visit.texts.clients.organization },
  { name: 'event', label: texts.event, options: choices(Object.keys(auditEvents).sort()) },
  { name: 'severity', label: texts.severity, options: choices(auditSeverities, severityName) },
  { name: 'request', label: texts.request },
  { name: 'since', label: texts.since, type: 'datetime-local' },
  { name: 'until', label: texts.until, type: 'datetime-local' },
])}
${card(texts.entries, auditTable(page, visit, texts.empty))}`;
  },
});

const tones: Readonly<Record<(typeof auditSeverities)[number], Tone>> = {
  alert: 'bad',
  warning: 'warning',
  notice: 'good',
  info: 'quiet',
  noise: 'quiet',
};

/** @param empty what the list would contain */
export function auditTable(
  { items, next }: Page<NamedEntry>,
  visit: Visit,
  empty: string,
  cursorName?: string,
): Html {
  const { audit: texts } = visit.texts;
  return table(visit, {
    caption: texts.entries,
    columns: [
      { label: texts.time, cell: (entry) => time(lastTimeOf(entry), visit) },
      { label: texts.act, cell: (entry) => actCell(entry, visit) },
      { label: texts.actor, cell: actorCell },
      { label: texts.object, cell: objectCell },
      { label: texts.changes, cell: detailCell },
      { label: texts.origin, cell: originCell },
    ],
    rows: items,
    next,
    empty,
    ...(cursorName !== undefined && { cursorName }),
  });
}

function actCell({ event, severity, count, ...others }: NamedEntry, { texts }: Visit): Html {
  const change = 'change' in others ? html` <b>${String(others.change)}</b>` : undefined;
  const times = count === undefined ? undefined : html` ×${number(count, texts)}`;
  return html`<div class="entry"><div><code translate="no">${event.split('_').map((word, index) => (index === 0 ? html`${word}` : html`_<wbr>${word}`))}</code>${change}${times}</div>
${status(tones[severity] ?? 'quiet', texts.audit.severities[severity] ?? severity)}</div>`;
}

/** An operator of the console is a user, or a client with a token of its API. */
function actorCell({ actor, operator }: NamedEntry): Html {
  const name = html`<span translate="no">${actor}</span>`;
  const isUser = actor === 'console' && /^[\da-f]{32}$/.test(operator ?? '');
  return operator === undefined
    ? html`<div class="entry">${name}</div>`
    : html`<div class="entry">${isUser ? userLink(operator) : foreignName(operator)}<small>${name}</small></div>`;
}

/** @param id without a name, its beginning is shown */
export const userLink = (id: string, name?: string): Html =>
  html`<a href="${pathTo('/users/:id', { id })}" title="${id}">${name === undefined ? html`<code translate="no">${id.slice(0, 8)}…</code>` : foreignName(name)}</a>`;

function objectCell(entry: NamedEntry): Html | undefined {
  const { clientId, clientName, userId, username } = entry;
  const client =
    clientId &&
    html`<div><a href="${pathTo('/clients/:id', { id: clientId })}" title="${plainName(clientName ?? '')}"><code translate="no">${plainName(clientId)}</code></a></div>`;
  const user = userId && html`<div>${userLink(userId, username)}</div>`;
  const organization =
    'organizationId' in entry &&
    html`<div><a href="${pathTo('/organizations/:id', { id: entry.organizationId })}"><code translate="no">${entry.organizationId}</code></a></div>`;
  return client || user || organization
    ? html`<div class="entry">${user || undefined}${client || undefined}${organization || undefined}</div>`
    : undefined;
}

/** Members that other columns show, and the time of the first event. */
const shownElsewhere: readonly string[] = [
  ...['id', 'at', 'lastAt', 'event', 'change', 'severity', 'outcome', 'count', 'isSummary'],
  ...['actor', 'operator', 'session', 'address', 'requestId', 'personal', 'changes'],
  ...['clientId', 'clientName', 'userId', 'username', 'organizationId'],
];

function detailCell(entry: NamedEntry): Html | undefined {
  const changes = 'changes' in entry && Array.isArray(entry.changes) ? entry.changes : [];
  const facts = Object.entries(entry).filter(
    ([name, value]) => value !== undefined && !shownElsewhere.includes(name),
  );
  return changes.length + facts.length === 0
    ? undefined
    : html`<div class="entry">${changeList(changes)}${facts.map(
        ([name, value]) =>
          html`<div><small>${plainName(name)}</small> <code translate="no">${plainName(textOf(value))}</code></div>`,
      )}</div>`;
}

function textOf(value: unknown): string {
  const isList = Array.isArray(value) && value.every((each) => typeof each === 'string');
  return isList ? value.join(' ') : typeof value === 'string' ? value : JSON.stringify(value);
}

/** Before → after. A value of a removed user is unknown. */
export function changeList(
  changes: readonly { readonly member: string; readonly from?: unknown; readonly to?: unknown }[],
): readonly Html[] {
  const shown = (value: unknown) =>
    html`<code translate="no">${plainName(JSON.stringify(value) ?? '–')}</code>`;
  return changes.map(({ member, from, to }) => {
    const isKnown = from !== undefined || to !== undefined;
    return html`<div><small>${plainName(member)}</small>${isKnown ? html` <del>${shown(from)}</del> → <ins>${shown(to)}</ins>` : undefined}</div>`;
  });
}

function originCell({ address, requestId: id }: NamedEntry): Html | undefined {
  const request =
    id && html`<a href="${pathTo('/requests/:id', { id })}"><small>${id.slice(0, 12)}</small></a>`;
  return address || request
    ? html`<div class="entry">${address && html`<code translate="no">${address}</code>`}${request || undefined}</div>`
    : undefined;
}
