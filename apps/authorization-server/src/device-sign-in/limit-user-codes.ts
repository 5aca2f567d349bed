import type { Identity } from '@gatehouse/identity';
import type Provider from 'oidc-provider';
import { noteFailure } from '../pages/error-page.ts';
import { pageLanguage } from '../pages/language.ts';
import { renderPage } from '../pages/layout.ts';
import { fill } from '../pages/texts.ts';
import type { ProviderMiddleware } from '../provider/library.ts';
import { isSessionOf } from '../provider/lifetimes.ts';
import { addressGroupOf } from '../requests/caller.ts';
import { providerRoutes } from '../requests/routes.ts';
import { type AttemptLimit, createAttemptLimit } from '../throttle/attempt-limit.ts';
import { deviceProblemView, signInFirstView } from './outcome-views.ts';

const WINDOW_SECONDS = 600;
/** Many users may share an address. The typing errors of an office stay below this limit. */
const BY_ADDRESS = 20;
const BY_USER = 20;
/**
 * All callers that are not signed in: with 1,000 live codes, 1,000 guesses find one in 25,000
 * windows.
 */
const BY_ANONYMOUS = 1000;

/** A party whose guesses count together, and the text for a party that has none left. */
interface Bound {
  readonly limit: AttemptLimit;
  readonly party: string;
  readonly message: 'deviceTooMany' | 'deviceSignInFirst';
}

/**
 * RFC 8628 §5.1: an attacker can guess codes of eight letters. Wrong codes count by address group
 * and, because addresses are cheap, also by signed-in user or for all anonymous callers together.
 * Over the anonymous limit, users have to sign in before they enter a code, which stops attackers
 * without an account.
 */
export function limitUserCodes(provider: Provider, identity: Identity): ProviderMiddleware {
  const limitOf = (kind: string, attempts: number) =>
    createAttemptLimit(identity.store, {
      name: `user-code:${kind}`,
      attempts,
      windowSeconds: WINDOW_SECONDS,
    });
  const addresses = limitOf('address', BY_ADDRESS);
  const users = limitOf('user', BY_USER);
  const anonymous = limitOf('strangers', BY_ANONYMOUS);

  async function boundsOf(context: Parameters<ProviderMiddleware>[0]): Promise<readonly Bound[]> {
    const message = 'deviceTooMany';
    const byAddress: Bound = { limit: addresses, party: addressGroupOf(context.req), message };
    const session = await provider.Session.get(context);
    const user = await identity.users.find(session.accountId ?? '');
    return [
      byAddress,
      isSessionOf(user, session)
        ? { limit: users, party: user.userId, message }
        : { limit: anonymous, party: 'all', message: 'deviceSignInFirst' },
    ];
  }

  return async (context, next) => {
    if (context.method !== 'POST' || context.path !== providerRoutes.code_verification) {
      return next();
    }
    const counted: Bound[] = [];
    const giveBack = () => Promise.all(counted.map(({ limit, party }) => limit.giveBack(party)));
    for (const bound of await boundsOf(context)) {
      const wait = await bound.limit.take(bound.party);
      if (wait !== undefined) {
        // The code was not evaluated, so this attempt does not count.
        await giveBack();
        showLimited(context, bound.message, wait);
        return;
      }
      counted.push(bound);
    }
    await next();
    if (context.oidc?.entities.DeviceCode !== undefined) {
      await giveBack();
    }
  };
}

function showLimited(
  context: Parameters<ProviderMiddleware>[0],
  message: Bound['message'],
  wait: number,
): void {
  const { language, texts } = pageLanguage(context);
  const minutes = String(Math.ceil(wait / 60));
  noteFailure(context.req, 'tooManyAttempts', 'user_code_limit');
  context.status = 429;
  context.set('Retry-After', String(wait));
  context.type = 'html';
  const view = message === 'deviceSignInFirst' ? signInFirstView : deviceProblemView;
  const content = view(fill(texts[message], { minutes }), texts);
  context.body = renderPage({ language, title: texts.deviceTitle, content });
}
