/** The request log: filters in the URL, failures by code, client and operation, and the latest requests. */
import type { ExplainedRequest, RequestGroup } from '@gatehouse/operators';
import { type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { addressWith, pathTo } from '../view/addresses.ts';
import { filterForm } from '../view/forms.ts';
import { card, number, status, table, time } from '../view/parts.ts';
import {
  EVENTS_PATH,
  EXPORT_PATH,
  FIND_PATH,
  logAddress,
  REQUEST_PATH,
  REQUESTS_PATH,
  requestQuery,
  toFilter,
} from '../view/request-log.ts';
import { userLink } from './audit.ts';
import { clientLink, duration, outcome, reasonCell } from './request-parts.ts';

const GROUPS = 20;
const REQUESTS = 25;
const query = requestQuery.extend({
  cursor: z.string().optional(),
  follow: z.literal('1').optional(),
});
type Query = z.output<typeof query>;

export const requests: Screen = screen({
  path: REQUESTS_PATH,
  requires: 'operator:read',
  query,
  async load({ operators, query: { cursor, follow, ...filters } }) {
    const filter = toFilter(filters);
    const [page, groups] = await Promise.all([
      operators.requests.list({ ...filter, cursor, limit: REQUESTS }),
      operators.requests.groups({ ...filter, limit: GROUPS }),
    ]);
    return { page, groups, isFollowed: follow !== undefined };
  },
  title: (_data, { texts }) => texts.requests.title,
  tools({ isFollowed }, visit) {
    const { requests: texts } = visit.texts;
    const address = addressWith(visit, { follow: isFollowed ? undefined : '1', cursor: undefined });
    return html`<a class="button" href="${address}">${isFollowed ? texts.stopFollowing : texts.follow}</a>
<a class="button" href="${streamAddress(EXPORT_PATH, visit)}" download>${texts.export}</a>`;
  },
  view({ page, groups, isFollowed }, visit) {
    const { requests: texts } = visit.texts;
    const shown = html`${card(texts.groups, groupTable(groups, visit))}
${card(texts.list, requestTable(page, visit))}`;
    return html`<p class="lead">${texts.lead}</p>
${findForm(visit)}
${filterForm(visit, [
  { name: 'clientId', label: texts.clientId },
  { name: 'user', label: visit.texts.audit.user },
  { name: 'orgId', label: visit.texts.clients.organization },
  { name: 'reason', label: texts.reason },
  { name: 'code', label: texts.code },
  { name: 'operation', label: texts.operation },
  { name: 'addressGroup', label: texts.addressGroup },
  { name: 'since', label: texts.since, type: 'datetime-local' },
  { name: 'until', label: texts.until, type: 'datetime-local' },
])}
${
  isFollowed
    ? html`<p class="following">${status('good', texts.following)}</p>
<div id="live-requests" data-events="${streamAddress(EVENTS_PATH, visit)}">${shown}</div>`
    : shown
}`;
  },
});

function streamAddress(path: string, { search }: Visit<Query>): string {
  return addressWith({ path, search }, { cursor: undefined, follow: undefined });
}

function findForm({ texts: { requests: texts } }: Visit<Query>): Html {
  return html`<form class="filter find" method="get" action="${FIND_PATH}" role="search" aria-label="${texts.find}">
<div class="field"><label for="find-id">${texts.find}</label>
<input id="find-id" name="id" type="search" required autocomplete="off" spellcheck="false" aria-describedby="find-hint"></div>
<div class="actions"><button type="submit">${texts.open}</button></div>
<p class="hint" id="find-hint">${texts.findHint}</p>
</form>`;
}

function groupTable(groups: readonly RequestGroup[], visit: Visit<Query>): Html {
  const { requests: texts } = visit.texts;
  const { cursor: _cursor, follow: _follow, ...filters } = visit.query;
  return table(visit, {
    caption: texts.groups,
    columns: [
      {
        label: texts.cause,
        cell: ({ code, clientId, operation, reasons: [reason = ''] }) =>
          reasonCell(reason, logAddress({ ...filters, reason, code, clientId, operation })),
      },
      {
        label: texts.operation,
        cell: ({ operation, code }) =>
          html`<code translate="no">${operation}</code>${
            code && html`<br><code class="aside" translate="no">${code}</code>`
          }`,
      },
      { label: texts.client, cell: ({ clientId }) => clientId && clientLink(clientId) },
      { label: texts.count, isNumber: true, cell: ({ count }) => number(count, visit.texts) },
      {
        label: texts.last,
        cell: ({ first, last, count, requestId: id }) =>
          html`<a href="${pathTo(REQUEST_PATH, { id })}">${time(last, visit)}</a>${
            count > 1
              ? html`<br><span class="aside">${texts.first} ${time(first, visit)}</span>`
              : undefined
          }`,
      },
    ],
    rows: groups,
    // The list below has the pages.
    cursorName: 'groups',
    empty: texts.noGroups,
  });
}

/** @param here the id of the request whose neighbors are listed */
export function requestTable(
  {
    items,
    next,
  }: { readonly items: readonly ExplainedRequest[]; readonly next?: string | undefined },
  visit: Visit,
  { here, empty }: { readonly here?: string; readonly empty?: string } = {},
): Html {
  const { requests: texts } = visit.texts;
  return table(visit, {
    caption: texts.list,
    columns: [
      {
        label: texts.time,
        cell: ({ time: at, requestId: id }) =>
          id === here
            ? html`<strong>${texts.here}</strong>`
            : html`<a href="${pathTo(REQUEST_PATH, { id })}">${time(at, visit)}</a>`,
      },
      { label: texts.outcome, cell: (entry) => outcome(entry, visit) },
      {
        label: texts.request,
        cell: ({ method = '', operation }) =>
          html`<code translate="no">${method} ${operation}</code>`,
      },
      {
        label: texts.client,
        cell: ({ clientId, userId, verified, addressGroup }) =>
          clientId === undefined
            ? html`<span class="aside">${addressGroup}</span>`
            : html`${clientLink(clientId)}${verified ? undefined : html` <span class="aside">${texts.unverified}</span>`}${userId && html`<br>${userLink(userId)}`}`,
      },
      {
        label: texts.cause,
        cell: ({ reason }) => reason && html`<code translate="no">${reason}</code>`,
      },
      {
        label: texts.duration,
        isNumber: true,
        cell: ({ durationMs }) => duration(durationMs, visit),
      },
    ],
    rows: items,
    next,
    empty: empty ?? texts.noRequests,
  });
}
