/** One request: why it failed, its stages with their times, what was signed, neighbors, audit entries. */
import { type FailureStage, failureStages } from '@gatehouse/errors';
import type { ExplainedRequest } from '@gatehouse/operators';
import { fill, type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { logAddress, pathTo, REQUEST_PATH, REQUESTS_PATH } from '../view/addresses.ts';
import {
  card,
  code,
  copyable,
  definitions,
  duration,
  lines,
  status,
  time,
  userLink,
} from '../view/parts.ts';
import { orUndefined } from './acts.ts';
import { auditTable } from './audit.ts';
import { credentialOf, curl, signedText } from './request-again.ts';
import { caller, inEnglish, outcome, requestTable } from './requests.ts';

const query = z.object({ at: z.string().optional() });

type Data = Awaited<ReturnType<typeof load>>;

async function load({
  operators,
  parameters: { id = '' },
  query: { at },
}: Visit<z.output<typeof query>>) {
  const found = await orUndefined(operators.requests.read(id));
  const { requests, audit } = found ?? { requests: [], audit: [] };
  // Callers can choose an id that was used before. Many requests that an attacker sends with the id
  // of a request must not hide that request.
  const latest = requests.toReversed();
  const entry =
    latest.find((each) => each.time === at) ?? latest.find((each) => each.verified) ?? latest[0];
  const others = latest.filter((each) => each !== entry);
  const { clientId } = entry ?? {};
  const [neighbors, client, processes] = await Promise.all([
    entry === undefined ? [] : operators.requests.neighbors(entry),
    entry !== undefined && credentialOf(entry) === 'signature' && clientId !== undefined
      ? orUndefined(operators.clients.read(clientId))
      : undefined,
    operators.installation.processes(),
  ]);
  const variable = entry?.app === 'gateway' ? 'GATEWAY_URL' : 'AUTHORIZATION_SERVER_URL';
  const settings = processes.flatMap((each) => each.settings);
  const server = settings.find(({ name }) => name === variable)?.value ?? `$${variable}`;
  const signatureAlgorithm = client?.client.signatureAlgorithm;
  return { id, entry, others, neighbors, audit, signatureAlgorithm, server };
}

export const request: Screen = screen({
  path: REQUEST_PATH,
  query,
  load,
  title: ({ id, entry }, { texts }) =>
    entry === undefined
      ? texts.requests.missingTitle
      : [entry.method, entry.operation].filter(Boolean).join(' ') || id,
  trail: (_data, { texts }) => [{ address: REQUESTS_PATH, label: texts.requests.title }],
  tools: ({ entry }, visit) => entry && outcome(entry, visit),
  view(data, visit) {
    const { requests: texts, common, frame } = visit.texts;
    const { id, entry, others } = data;
    if (entry === undefined) {
      return html`<section class="card"><p>${copyable(id, frame)}</p>
<ul>${texts.missing.map((each) => html`<li>${each}</li>`)}</ul></section>`;
    }
    return html`${others.length === 0 ? undefined : html`<div class="warning notice" role="note"><p>${texts.several}</p>${otherLinks(data, visit)}</div>`}
${why(entry, visit)}
<div class="columns">${card(texts.stages, stageList(entry, visit))}${card(common.details, details(entry, visit))}</div>
${signedText(data, visit)}
${curl(data, visit)}
${card(texts.neighbors, neighborTable(data, visit))}
${card(texts.audit, auditTable({ items: data.audit }, visit))}`;
  },
});

function otherLinks({ id, others }: Data, visit: Visit): Html {
  const links = others
    .slice(0, 10)
    .map(
      (each) =>
        html`<li><a href="${pathTo(REQUEST_PATH, { id })}?at=${encodeURIComponent(each.time)}">${each.time}</a> ${outcome(each, visit)}</li>`,
    );
  return html`<ul>${links}</ul>`;
}

function why(entry: ExplainedRequest, { texts: { requests: texts, common } }: Visit): Html {
  const { reason, explanation, finding, clientId } = entry;
  if (reason === undefined) {
    return html`<p class="lead">${texts.sampled}</p>`;
  }
  const similar = html`<a class="button" href="${logAddress({ reason, clientId })}">${texts.similar}</a>`;
  return card(
    texts.why,
    definitions([
      [common.reason, code(reason)],
      [texts.code, entry.code && entry.code !== reason ? code(entry.code) : undefined],
      [texts.finding, finding && inEnglish(finding)],
      [common.cause, explanation && inEnglish(explanation.cause)],
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
  const timeIn = (text: string, milliseconds: number | undefined) =>
    milliseconds === undefined ? undefined : fill(text, { time: duration(milliseconds, texts) });
  const times: Readonly<Partial<Record<FailureStage, string | undefined>>> = {
    authenticate: timeIn(words.after, verifiedMs),
    forward: timeIn(words.took, upstreamMs),
    reply: timeIn(words.after, durationMs),
  };
  return html`<ol class="stages">${stages.map((stage, index) => {
    // Also a failed request gets a reply.
    const isSent = stage === 'reply' && index !== failedAt && !aborted;
    const state = index === failedAt ? 'bad' : index < failedAt || isSent ? 'good' : 'quiet';
    const label = { bad: words.failedHere, good: words.passed, quiet: words.notReached }[state];
    return html`<li class="${state}"><span>${words.stage[stage]}</span><small>${times[stage]}</small>${status(state, label)}</li>`;
  })}</ol>`;
}

function details(entry: ExplainedRequest, visit: Visit): Html {
  const { requests: texts, common, frame } = visit.texts;
  const { userId, app, credential, keyId, addressGroup, userAgent } = entry;
  return definitions([
    [common.requestId, copyable(entry.requestId, frame)],
    [common.time, lines([html`${entry.time}`, html`<small>${time(entry.time, visit)}</small>`])],
    [texts.app, code(app)],
    [texts.status, entry.status === undefined ? undefined : String(entry.status)],
    [common.client, caller(entry, visit)],
    [common.user, userId && userLink(userId, userId)],
    [common.credential, credential && code(credential)],
    [common.key, keyId && code(keyId)],
    [texts.addressGroup, html`<a href="${logAddress({ addressGroup })}">${code(addressGroup)}</a>`],
    [texts.userAgent, userAgent],
    [texts.duration, duration(entry.durationMs, visit.texts)],
  ]);
}

function neighborTable({ id, entry, neighbors }: Data, visit: Visit): Html {
  const items = entry === undefined || neighbors.length === 0 ? neighbors : [entry, ...neighbors];
  const ordered = items.toSorted((a, b) => (a.time < b.time ? 1 : -1));
  const empty = visit.texts.requests.noNeighbors;
  return requestTable({ items: ordered }, visit, { here: id, empty });
}
