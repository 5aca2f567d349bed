/** The migration of a client: what it should stop using, and when each of it was last seen. */
import { fill, type Html, html } from '@gatehouse/server';
import type { Visit } from '../frame/screen.ts';
import { card, counted, lastTime, status, type Tone, table } from '../view/parts.ts';
import type { Texts } from '../view/texts-en.ts';
import type { ClientData } from './client-keys.ts';

const DAY_SECONDS = 24 * 60 * 60;
/** The store keeps a last use for so long. */
const MAXIMUM_DAYS = 400;
const RECENT_SECONDS = 30 * DAY_SECONDS;

const version1: readonly string[] = ['MD5', 'SHA-256'];

/** Of version 2, clients should have a use. Of everything else, none, and no permission. */
function stateOf(
  { practice, isAllowed, lastAt }: ClientData['use']['practices'][number],
  now: number,
): readonly [keyof Texts['clients']['practiceStates'], Tone] {
  const isUsed = lastAt !== undefined && lastAt > now / 1000 - RECENT_SECONDS;
  if (practice === 'HMAC-SHA-256') {
    return isUsed ? ['used', 'good'] : ['unused', 'quiet'];
  }
  if (isUsed) {
    return ['used', 'bad'];
  }
  // The security profile of the installation decides about tokens in queries, for all clients.
  return practice === 'query_token'
    ? ['unused', 'good']
    : isAllowed
      ? ['allowed', 'warning']
      : ['off', 'good'];
}

export function migrationTab({ found: { client }, use }: ClientData, visit: Visit): Html {
  const { clients: texts, common } = visit.texts;
  const rows = use.practices.map((each) => {
    const [state, tone] = stateOf(each, visit.now);
    return { ...each, state, tone };
  });
  const steps = rows.filter(({ practice }) => practice !== 'HMAC-SHA-256');
  const done = steps.filter(({ tone }) => tone === 'good').length;
  const signsOld = rows.some(
    ({ practice, state }) => version1.includes(practice) && state !== 'off',
  );
  const hasAdvice = (tone: Tone) => tone !== 'good' && (tone !== 'quiet' || signsOld);
  const progress = fill(texts.migrated, { count: String(done), all: String(steps.length) });
  return card(
    texts.migration,
    html`<p class="hint">${texts.migrationLead}</p>
<p><progress max="${String(steps.length)}" value="${String(done)}" aria-label="${progress}"></progress><strong>${progress}</strong></p>
${table(visit, {
  caption: texts.migration,
  columns: [
    { label: texts.practice, cell: ({ practice }) => texts.practices[practice] },
    { label: common.state, cell: ({ state, tone }) => status(tone, texts.practiceStates[state]) },
    {
      label: texts.lastSeen,
      cell: ({ lastAt }) =>
        lastAt === undefined ? unseen(client, visit) : lastTime(lastAt, visit),
    },
    {
      label: texts.advice,
      cell: ({ practice, tone }) => (hasAdvice(tone) ? texts.advices[practice] : undefined),
    },
  ],
  rows,
  empty: common.none,
})}`,
  );
}

/** Not seen since its oldest key exists: before that, the client could not be used. */
function unseen({ keys }: ClientData['found']['client'], { texts, now }: Visit): string {
  const oldest = Math.min(...keys.map(({ createdAt = Number.NaN }) => createdAt));
  const days = Math.min(MAXIMUM_DAYS, Math.floor((now / 1000 - oldest) / DAY_SECONDS));
  return Number.isFinite(oldest) && days > 0
    ? counted(days, texts, texts.clients.unseen)
    : texts.clients.unseenUnknown;
}
