/** The request log: filters in the URL, failures by code, client and operation, and the latest requests. */
import { failureReasons, isFailureReason } from '@gatehouse/errors';
import type { ExplainedRequest, Page, RequestGroup } from '@gatehouse/operators';
import { type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import {
  addressWith,
  EVENTS_PATH,
  EXPORT_PATH,
  FIND_PATH,
  pathTo,
  REQUEST_PATH,
  REQUESTS_PATH,
  requestQuery,
} from '../view/addresses.ts';
import { filterForm } from '../view/forms.ts';
import {
  card,
  clientLink,
  code,
  duration,
  entry,
  lines,
  number,
  type Place,
  status,
  table,
  tableCard,
  time,
  userLink,
} from '../view/parts.ts';

const GROUPS = 20;
const REQUESTS = 25;
const query = requestQuery.extend({
  cursor: z.string().optional(),
  follow: z.literal('1').optional(),
});
type Query = z.output<typeof query>;

export const requests: Screen = screen({
  path: REQUESTS_PATH,
  query,
  async load({ operators, query: { cursor, follow, ...filter } }) {
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
<a class="button" href="${filtered(EXPORT_PATH, visit)}" download>${texts.export}</a>`;
  },
  view({ page, groups, isFollowed }, visit) {
    const { requests: texts, common } = visit.texts;
    const shown = html`${groupCard(groups, visit)}
${card(texts.list, requestTable(page, visit))}`;
    return html`<p class="lead">${texts.lead}</p>
${findForm(visit)}
${filterForm(visit, [
  { name: 'clientId', label: common.clientId },
  { name: 'user', label: visit.texts.audit.user },
  { name: 'orgId', label: common.organization },
  { name: 'reason', label: common.reason },
  { name: 'code', label: texts.code },
  { name: 'operation', label: common.operation },
  { name: 'addressGroup', label: texts.addressGroup },
  { name: 'since', label: common.since, type: 'datetime-local' },
  { name: 'until', label: common.until, type: 'datetime-local' },
])}
${
  isFollowed
    ? html`<p class="following">${status('good', texts.following)}</p>
<div id="live-requests" data-events="${filtered(EVENTS_PATH, visit)}">${shown}</div>`
    : shown
}`;
  },
});

/** With the same filters, and others. */
function filtered(path: string, { search }: Visit<Query>, filters: z.input<typeof query> = {}) {
  return addressWith({ path, search }, { ...filters, cursor: undefined, follow: undefined });
}

function findForm({ texts: { requests: texts, common } }: Visit<Query>): Html {
  return html`<form class="filter find" method="get" action="${FIND_PATH}" role="search" aria-label="${common.requestId}">
<div class="field"><label for="find-id">${common.requestId}</label>
<input id="find-id" name="id" type="search" required autocomplete="off" spellcheck="false" aria-describedby="find-hint"></div>
<div class="actions"><button type="submit">${texts.open}</button></div>
<p class="hint" id="find-hint">${texts.findHint}</p>
</form>`;
}

function groupCard(groups: readonly RequestGroup[], visit: Visit<Query>): Html {
  const { requests: texts, common } = visit.texts;
  return tableCard(visit, {
    caption: texts.groups,
    columns: [
      {
        label: common.reason,
        cell: ({ code, clientId, operation, reasons }) =>
          lines(
            reasons.map((reason) =>
              reasonCell(
                reason,
                filtered(REQUESTS_PATH, visit, { reason, code, clientId, operation }),
              ),
            ),
          ),
      },
      {
        label: common.operation,
        cell: ({ operation, code: shown }) => entry(code(operation), shown && code(shown)),
      },
      { label: common.client, cell: ({ clientId }) => clientId && clientLink(clientId) },
      { label: texts.count, isNumber: true, cell: ({ count }) => number(count, visit.texts) },
      {
        label: texts.last,
        cell: ({ first, last, count, requestId: id }) =>
          entry(
            html`<a href="${pathTo(REQUEST_PATH, { id })}">${time(last, visit)}</a>`,
            count > 1 ? html`${texts.first} ${time(first, visit)}` : undefined,
          ),
      },
    ],
    rows: groups,
    // The list below has the pages.
    cursorName: 'groups',
    empty: texts.empty,
  });
}

/** @param here the id of the request whose neighbors are listed */
export function requestTable(
  { items, next }: Page<ExplainedRequest>,
  visit: Visit,
  { here, empty }: { readonly here?: string; readonly empty?: string } = {},
): Html {
  const { requests: texts, common } = visit.texts;
  return table(visit, {
    caption: texts.list,
    columns: [
      {
        label: common.time,
        cell: ({ time: at, requestId: id }) =>
          id === here
            ? html`<strong>${texts.here}</strong>`
            : html`<a href="${pathTo(REQUEST_PATH, { id })}">${time(at, visit)}</a>`,
      },
      { label: common.outcome, cell: (request) => outcome(request, visit) },
      {
        label: texts.request,
        cell: ({ method = '', operation }) => code(`${method} ${operation}`),
      },
      {
        label: common.client,
        cell: (request) =>
          lines([
            caller(request, visit) ?? html`<small>${request.addressGroup}</small>`,
            ...(request.userId === undefined ? [] : [userLink(request.userId)]),
          ]),
      },
      { label: common.reason, cell: ({ reason }) => reason && code(reason) },
      {
        label: texts.duration,
        isNumber: true,
        cell: ({ durationMs }) => duration(durationMs, visit.texts),
      },
    ],
    rows: items,
    next,
    empty: empty ?? texts.empty,
  });
}

export function outcome({ status: code, reason, aborted }: ExplainedRequest, { texts }: Place) {
  if (aborted && code === undefined) {
    return status('quiet', texts.overview.outcome.aborted);
  }
  const tone = reason === undefined ? 'good' : (code ?? 0) >= 500 ? 'bad' : 'warning';
  return status(tone, String(code ?? '–'));
}

/** Anyone can send the id of a client. */
export const caller = ({ clientId, verified }: ExplainedRequest, { texts }: Place) =>
  clientId === undefined
    ? undefined
    : html`${clientLink(clientId)}${verified ? undefined : html` <small>${texts.requests.unverified}</small>`}`;

/** The texts of reasons are in English, as in replies and in the command line. */
export const inEnglish = (text: string): Html => html`<span lang="en">${text}</span>`;

/** The name of a reason, with its cause below. */
export function reasonCell(reason: string, address: string): Html {
  const cause = isFailureReason(reason) ? inEnglish(failureReasons[reason].cause) : undefined;
  return entry(html`<a href="${address}">${code(reason)}</a>`, cause);
}
