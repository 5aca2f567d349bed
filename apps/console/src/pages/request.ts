/** One request: why it failed, its stages with their times, what was signed, neighbors, audit entries. */
import { type FailureStage, failureStages } from '@gatehouse/errors';
import { type ExplainedRequest, type NamedEntry, OperatorError } from '@gatehouse/operators';
import { fill, type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { pathTo } from '../view/addresses.ts';
import { card, copyable, definitions, number, status, table, time } from '../view/parts.ts';
import { logAddress, REQUEST_PATH, REQUESTS_PATH } from '../view/request-log.ts';
import { credentialOf, curl, type Replay, signedText } from './request-again.ts';
import { clientLink, duration, inEnglish, outcome } from './request-parts.ts';
import { requestTable } from './requests.ts';

interface Data extends Replay {
  readonly id: string;
  /** Callers can choose an id that was used before. */
  readonly others: readonly ExplainedRequest[];
  readonly neighbors: readonly ExplainedRequest[];
  readonly audit: readonly NamedEntry[];
}

export const request: Screen = screen<{ at?: string | undefined }, Data>({
  path: REQUEST_PATH,
  requires: 'operator:read',
  query: z.object({ at: z.string().optional() }),
  async load({ operators, parameters: { id = '' }, query: { at } }) {
    const { requests, audit } = await operators.requests.read(id).catch(nothingFound);
    // Many requests that an attacker sends with the id of a request must not hide that request.
    const latest = requests.toReversed();
    const entry =
      latest.find((each) => each.time === at) ?? latest.find((each) => each.verified) ?? latest[0];
    const others = latest.filter((each) => each !== entry);
    const { clientId } = entry ?? {};
    const [neighbors, client, processes] = await Promise.all([
      entry === undefined ? [] : operators.requests.neighbors(entry),
      entry !== undefined && credentialOf(entry) === 'signature' && clientId !== undefined
        ? operators.clients.read(clientId).catch(() => undefined)
        : undefined,
      operators.installation.processes(),
    ]);
    const variable = entry?.app === 'gateway' ? 'GATEWAY_URL' : 'AUTHORIZATION_SERVER_URL';
    const settings = processes.flatMap((each) => each.settings);
    const server = settings.find(({ name }) => name === variable)?.value ?? `$${variable}`;
    const signatureAlgorithm = client?.client.signatureAlgorithm;
    return { id, entry, others, neighbors, audit, signatureAlgorithm, server };
  },
  title: ({ id, entry }, { texts }) =>
    entry === undefined
      ? texts.requests.missingTitle
      : [entry.method, entry.operation].filter(Boolean).join(' ') || id,
  trail: (_data, { texts }) => [{ address: REQUESTS_PATH, label: texts.requests.title }],
  tools: ({ entry }, visit) => entry && outcome(entry, visit),
  view(data, visit) {
    const { requests: texts, frame } = visit.texts;
    const { id, entry, others } = data;
    if (entry === undefined) {
      return html`<section class="card"><p>${copyable(id, frame)}</p>
<ul>${texts.missing.map((each) => html`<li>${each}</li>`)}</ul></section>`;
    }
    return html`${others.length === 0 ? undefined : html`<div class="warning notice" role="note"><p>${texts.several}</p>${otherLinks(data, visit)}</div>`}
${why(entry, visit)}
<div class="columns">${card(texts.stages, stageList(entry, visit))}${card(texts.details, details(entry, visit))}</div>
${signedText(data, visit)}
${curl(data, visit)}
${card(texts.neighbors, neighborTable(data, visit))}
${card(texts.audit, auditTable(data.audit, visit))}`;
  },
});

function nothingFound(error: unknown) {
  if (error instanceof OperatorError && error.code === 'not_found') {
    return { requests: [], audit: [] };
  }
  throw error;
}

function otherLinks({ id, others }: Data, visit: Visit): Html {
  const links = others
    .slice(0, 10)
    .map(
      (each) =>
        html`<li><a href="${pathTo(REQUEST_PATH, { id })}?at=${encodeURIComponent(each.time)}">${each.time}</a> ${outcome(each, visit)}</li>`,
    );
  return html`<ul>${links}</ul>`;
}

function why(entry: ExplainedRequest, { texts: { requests: texts } }: Visit): Html {
  const { reason, explanation, finding, clientId, code } = entry;
  if (reason === undefined) {
    return html`<p class="lead">${texts.sampled}</p>`;
  }
  const similar = html`<a class="button" href="${logAddress({ reason, clientId })}">${texts.similar}</a>`;
  return card(
    texts.why,
    definitions([
      [texts.reason, html`<code translate="no">${reason}</code>`],
      [texts.code, code && code !== reason ? html`<code translate="no">${code}</code>` : undefined],
      [texts.finding, finding && inEnglish(finding)],
      [texts.happened, explanation && inEnglish(explanation.cause)],
      [texts.fix, explanation && html`<strong>${inEnglish(explanation.fix)}</strong>`],
    ]),
    similar,
  );
}

/** Of the stages that the server has, in the order in which this request passed them. */
function stagesOf({ app, verifiedMs, explanation }: ExplainedRequest): readonly FailureStage[] {
  const failed = explanation?.stage;
  const isForwarded = app === 'gateway';
  const own = failureStages.filter(
    (stage) => stage === failed || (stage !== 'store' && (stage !== 'forward' || isForwarded)),
  );
  // The limits of a client are checked after its credential.
  return failed === 'limit' && verifiedMs !== undefined
    ? ['read', 'authenticate', 'limit', ...own.slice(3)]
    : own;
}

function stageList(entry: ExplainedRequest, { texts }: Visit): Html {
  const { requests: words } = texts;
  const stages = stagesOf(entry);
  const { reason, explanation, verifiedMs, upstreamMs, durationMs, aborted } = entry;
  const failedAt =
    reason === undefined ? stages.length : stages.indexOf(explanation?.stage ?? 'reply');
  const times: Readonly<Partial<Record<FailureStage, string | undefined>>> = {
    authenticate:
      verifiedMs === undefined
        ? undefined
        : fill(words.after, { time: duration(verifiedMs, { texts }) }),
    forward:
      upstreamMs === undefined
        ? undefined
        : fill(words.took, { time: duration(upstreamMs, { texts }) }),
    reply: fill(words.after, { time: duration(durationMs, { texts }) }),
  };
  return html`<ol class="stages">${stages.map((stage, index) => {
    // Also a failed request gets a reply.
    const isSent = stage === 'reply' && index !== failedAt && !aborted;
    const state = index === failedAt ? 'bad' : index < failedAt || isSent ? 'good' : 'quiet';
    const label = { bad: words.failedHere, good: words.passed, quiet: words.notReached }[state];
    return html`<li class="${state}"><span>${words.stage[stage]}</span><span class="aside">${times[stage]}</span>${status(state, label)}</li>`;
  })}</ol>`;
}

function details(entry: ExplainedRequest, visit: Visit): Html {
  const { requests: texts, frame } = visit.texts;
  const { clientId, userId, verified, app, credential, keyId, addressGroup, userAgent } = entry;
  const client =
    clientId &&
    html`${clientLink(clientId)}${verified ? undefined : html` <span class="aside">${texts.unverified}</span>`}`;
  return definitions([
    [texts.id, copyable(entry.requestId, frame)],
    [texts.time, html`${entry.time} <span class="aside">${time(entry.time, visit)}</span>`],
    [texts.app, html`<code translate="no">${app}</code>`],
    [texts.status, entry.status === undefined ? undefined : String(entry.status)],
    [texts.client, client || undefined],
    [
      visit.texts.tokens.user,
      userId &&
        html`<a href="${pathTo('/users/:id', { id: userId })}"><code translate="no">${userId}</code></a>`,
    ],
    [texts.credential, credential && html`<code translate="no">${credential}</code>`],
    [texts.keyId, keyId && html`<code translate="no">${keyId}</code>`],
    [
      texts.addressGroup,
      html`<a href="${logAddress({ addressGroup })}"><code translate="no">${addressGroup}</code></a>`,
    ],
    [texts.userAgent, userAgent],
    [texts.duration, duration(entry.durationMs, visit)],
  ]);
}

function neighborTable({ id, entry, neighbors }: Data, visit: Visit): Html {
  const at = entry?.time ?? '';
  const items = neighbors.length === 0 || entry === undefined ? neighbors : [entry, ...neighbors];
  const ordered = items.toSorted((a, b) => (a.time < b.time ? 1 : -1));
  const empty = visit.texts.requests.noNeighbors;
  return requestTable({ items: at === '' ? neighbors : ordered }, visit, { here: id, empty });
}

function auditTable(entries: readonly NamedEntry[], visit: Visit): Html {
  const { requests: texts } = visit.texts;
  return table(visit, {
    caption: texts.audit,
    columns: [
      { label: texts.time, cell: ({ at }) => time(at, visit) },
      {
        label: texts.event,
        cell: ({ event, outcome: result }) =>
          html`${status(result === 'success' ? 'good' : 'warning', event)}`,
      },
      { label: texts.client, cell: ({ clientId }) => clientId && clientLink(clientId) },
      {
        label: texts.user,
        cell: ({ userId, username }) =>
          userId &&
          html`<a href="${pathTo('/users/:id', { id: userId })}">${username ?? userId}</a>`,
      },
      {
        label: texts.reason,
        cell: (entry) =>
          'reason' in entry && entry.reason
            ? html`<code translate="no">${entry.reason}</code>`
            : undefined,
      },
      { label: texts.count, isNumber: true, cell: ({ count = 1 }) => number(count, visit.texts) },
    ],
    rows: entries,
    empty: texts.noAudit,
  });
}
