/** What doctor finds in the records: each kind with its advice, and links to the objects. */
import type { FoundObject, RecordFinding } from '@gatehouse/operators';
import { fill, type Html, html } from '@gatehouse/server';
import { type Screen, screen, type Visit } from '../frame/screen.ts';
import { logAddress } from '../view/addresses.ts';
import { clientLink, number, status, type Tone, userLink } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';

export const FINDINGS_PATH = '/findings';
/** Of each kind, on its own screen. */
const OBJECTS = 100;

const tones = { error: 'bad', warning: 'warning', notice: 'quiet' } as const satisfies Readonly<
  Record<RecordFinding['severity'], Tone>
>;

export const findings: Screen = screen({
  path: FINDINGS_PATH,
  load: ({ operators }) => operators.findings.list(),
  title: (_found, { texts }) => texts.findings.title,
  trail: (_found, { texts }) => [{ address: '/overview', label: texts.overview.title }],
  view: (found, visit) => html`<p class="lead">${visit.texts.findings.lead}</p>
${
  found.length === 0
    ? html`<p class="empty">${visit.texts.overview.noFindings}</p>`
    : html`<section class="card">${findingList(found, visit, OBJECTS)}</section>`
}`,
});

/** @param most so many objects of each finding */
export function findingList(
  found: readonly RecordFinding[],
  { texts }: Pick<Visit, 'texts'>,
  most: number,
): Html {
  const { severity: severities, kinds, requests } = texts.findings;
  return html`<ul class="findings">${found.map(({ id, severity, what, objects }) => {
    const { title, fix } = kinds[id];
    const log =
      id === 'token_in_query'
        ? html`<p><a href="${logAddress({ reason: 'token_in_query' })}">${requests}</a></p>`
        : undefined;
    return html`<li><p class="finding">${status(tones[severity], severities[severity])} <strong>${title}</strong></p>
<p>${fix}</p>${objects.length === 0 ? html`<p class="aside" lang="en">${what}</p>` : objectLinks(objects, texts, most)}${log}</li>`;
  })}</ul>`;
}

function objectLinks(objects: readonly FoundObject[], texts: Texts, most: number): Html {
  const links = objects.slice(0, most).map(({ kind, id, name, keyId }) => {
    const link = kind === 'client' ? clientLink(id, name) : userLink(id, name);
    const key =
      keyId && html` <span class="aside">${fill(texts.findings.key, { id: keyId })}</span>`;
    return html`<li>${link}${key}</li>`;
  });
  const others = objects.length - most;
  const count = number(others, texts);
  const more =
    others > 0
      ? html`<li><a href="${FINDINGS_PATH}">${fill(texts.findings.more, { count })}</a></li>`
      : undefined;
  return html`<ul class="objects">${links}${more}</ul>`;
}
