/** The migration of a client: what it should stop using, and when each of it was last seen. */
import type { PracticeUse } from '@gatehouse/operators';
import { fill, type Html, html } from '@gatehouse/server';
import type { Visit } from '../frame/screen.ts';
import { card, counted, status, table } from '../view/parts.ts';
import type { ClientData } from './client-keys.ts';
import { useTime } from './clients.ts';

const DAY_SECONDS = 24 * 60 * 60;
/** The store keeps a last use for so long. */
const MAXIMUM_DAYS = 400;
const RECENT_SECONDS = 30 * DAY_SECONDS;

const version1: readonly string[] = ['MD5', 'SHA-256'];

type PracticeState = keyof typeof practiceTones;

const practiceTones = {
  used: 'bad',
  allowed: 'warning',
  off: 'good',
  unused: 'good',
  target: 'good',
  missing: 'quiet',
} as const;

/** Of version 2, clients should have a use. Of everything else, none, and no permission. */
function practiceState({ practice, isAllowed, lastAt }: PracticeUse, now: number): PracticeState {
  const isUsed = lastAt !== undefined && lastAt > now / 1000 - RECENT_SECONDS;
  if (practice === 'HMAC-SHA-256') {
    return isUsed ? 'target' : 'missing';
  }
  if (isUsed) {
    return 'used';
  }
  // The security profile of the installation decides about tokens in queries, for all clients.
  return practice === 'query_token' ? 'unused' : isAllowed ? 'allowed' : 'off';
}

export function migrationTab({ found: { client }, use }: ClientData, visit: Visit): Html {
  const { clients: texts } = visit.texts;
  const rows = use.practices.map((each) => ({ ...each, state: practiceState(each, visit.now) }));
  const steps = rows.filter(({ practice }) => practice !== 'HMAC-SHA-256');
  const done = steps.filter(({ state }) => practiceTones[state] === 'good').length;
  const signsOld = rows.some(
    ({ practice, state }) => version1.includes(practice) && state !== 'off',
  );
  const hasAdvice = (state: PracticeState) =>
    state === 'used' || state === 'allowed' || (state === 'missing' && signsOld);
  const progress = fill(texts.migrated, { count: String(done), all: String(steps.length) });
  return card(
    texts.migration,
    html`<p class="hint">${texts.migrationLead}</p>
<p class="meter"><progress max="${String(steps.length)}" value="${String(done)}" aria-label="${progress}"></progress><strong>${progress}</strong></p>
${table(visit, {
  caption: texts.migration,
  columns: [
    { label: texts.practice, cell: ({ practice }) => texts.practices[practice] },
    {
      label: texts.state,
      cell: ({ state }) => status(practiceTones[state], texts.practiceStates[state]),
    },
    {
      label: texts.lastSeen,
      cell: ({ lastAt }) => (lastAt === undefined ? unseen(client, visit) : useTime(lastAt, visit)),
    },
    {
      label: texts.advice,
      cell: ({ practice, state }) => (hasAdvice(state) ? texts.advices[practice] : undefined),
    },
  ],
  rows,
  empty: texts.none,
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
