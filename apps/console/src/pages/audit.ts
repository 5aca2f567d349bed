/** The audit trail: all trails in one list, with what each change did. */
import { type AuditedChange, auditEvents, auditSeverities, lastTimeOf } from '@gatehouse/identity';
import type { NamedEntry, Page } from '@gatehouse/operators';
import { foreignName, type Html, html, plainName } from '@gatehouse/server';
import { z } from 'zod';
import { AUDIT_EXPORT_PATH, auditQuery, toAuditQuery } from '../frame/exports.ts';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { addressWith, pathTo } from '../view/addresses.ts';
import { choices, filterForm } from '../view/forms.ts';
import {
  card,
  entry as cell,
  clientLink,
  code,
  lines,
  number,
  organizationLink,
  status,
  type Tone,
  table,
  time,
  userLink,
} from '../view/parts.ts';

export const audit: Screen = screen({
  path: '/audit',
  query: auditQuery.extend({ cursor: z.string().optional() }),
  load: ({ operators, query: { cursor, ...filters } }) =>
    operators.audit.list({ ...toAuditQuery(filters), cursor }),
  title: (_data, { texts }) => texts.audit.title,
  tools(_data, { texts, search }) {
    const address = addressWith({ path: AUDIT_EXPORT_PATH, search }, { cursor: undefined });
    return html`<a class="button" href="${address}" download>${texts.audit.export}</a>`;
  },
  view(page, visit) {
    const { audit: texts, common } = visit.texts;
    const severities = choices(visit, auditSeverities, (name) => texts.severities[name]);
    return html`<p class="lead">${texts.lead}</p>
${filterForm(visit, [
  { name: 'user', label: texts.user },
  { name: 'clientId', label: common.clientId },
  { name: 'orgId', label: common.organization },
  { name: 'event', label: texts.event, options: choices(visit, Object.keys(auditEvents).sort()) },
  { name: 'severity', label: texts.severity, options: severities },
  { name: 'requestId', label: common.requestId },
  { name: 'since', label: common.since, type: 'datetime-local' },
  { name: 'until', label: common.until, type: 'datetime-local' },
])}
${card(texts.entries, auditTable(page, visit))}`;
  },
});

const tones: Readonly<Record<(typeof auditSeverities)[number], Tone>> = {
  alert: 'bad',
  warning: 'warning',
  notice: 'good',
  info: 'quiet',
  noise: 'quiet',
};

export function auditTable({ items, next }: Page<NamedEntry>, visit: Visit): Html {
  const { audit: texts, common } = visit.texts;
  return table(visit, {
    caption: texts.entries,
    columns: [
      { label: common.time, cell: (entry) => time(lastTimeOf(entry), visit) },
      { label: texts.event, cell: (entry) => actCell(entry, visit) },
      { label: texts.actor, cell: actorCell },
      { label: texts.object, cell: objectCell },
      { label: texts.changes, cell: detailCell },
      { label: texts.origin, cell: originCell },
    ],
    rows: items,
    next,
    empty: texts.empty,
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
    ? cell(name, undefined)
    : cell(isUser ? userLink(operator) : foreignName(operator), name);
}

function objectCell(entry: NamedEntry): Html | undefined {
  const { clientId, clientName, userId, username } = entry;
  return lines([
    ...(userId ? [userLink(userId, username)] : []),
    ...(clientId ? [clientLink(clientId, clientName)] : []),
    ...('organizationId' in entry ? [organizationLink(entry.organizationId)] : []),
  ]);
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
  return lines([
    ...changeList(changes),
    ...facts.map(
      ([name, value]) => html`<small>${plainName(name)}</small> ${code(plainName(textOf(value)))}`,
    ),
  ]);
}

function textOf(value: unknown): string {
  const isList = Array.isArray(value) && value.every((each) => typeof each === 'string');
  return isList ? value.join(' ') : typeof value === 'string' ? value : JSON.stringify(value);
}

/** Before → after. A value of a removed user is unknown. */
export function changeList(changes: readonly AuditedChange[]): readonly Html[] {
  const shown = (value: unknown) => code(plainName(JSON.stringify(value) ?? '–'));
  return changes.map(({ member, from, to }) => {
    const isKnown = from !== undefined || to !== undefined;
    return html`<small>${plainName(member)}</small>${isKnown ? html` <del>${shown(from)}</del> → <ins>${shown(to)}</ins>` : undefined}`;
  });
}

function originCell({ address, requestId: id }: NamedEntry): Html | undefined {
  const request =
    id && html`<a href="${pathTo('/requests/:id', { id })}"><small>${id.slice(0, 12)}</small></a>`;
  return lines([...(address ? [code(address)] : []), ...(request ? [request] : [])]);
}
