/**
 * The two cookies of a browser: the session, which no other site can use, and the state of a sign-in,
 * which the browser must send when it returns from the authorization server.
 */
import { randomBytes } from 'node:crypto';
import { createSealer, deriveKeys, type MasterKey } from '@gatehouse/identity';
import type { CookieOptions, Request, Response } from 'express';
import { z } from 'zod';
import { SESSION_SECONDS } from './sessions.ts';

/** How long a user may take to sign in. */
const SIGN_IN_SECONDS = 10 * 60;

const signInState = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** Where the operator continues: a path of the console. */
  next: z.string(),
  /** The record of the session that the new one replaces. */
  replaces: z.string().optional(),
  /** Epoch milliseconds. */
  at: z.number(),
});

export type SignInState = Readonly<z.infer<typeof signInState>>;

export type Cookies = ReturnType<typeof createCookies>;

export function createCookies(settings: {
  readonly secure: boolean;
  readonly masterKey: MasterKey;
  readonly now: () => number;
}) {
  const { secure, masterKey, now } = settings;
  // Sibling hosts cannot set a cookie with this prefix (RFC 6265bis §4.1.3).
  const prefix = secure ? '__Host-' : '';
  const sessionName = `${prefix}console-session`;
  const signInName = `${prefix}console-sign-in`;
  const noticeName = `${prefix}console-notice`;
  const base: CookieOptions = { httpOnly: true, secure, path: '/' };
  const strict: CookieOptions = { ...base, sameSite: 'strict' };
  const contextOf = (id: string) => `console-sign-in:${id}`;
  // A key for each record: strangers create any number of them, and random nonces of one key would
  // repeat.
  const sealerOf = (id: string) => createSealer(deriveKeys(masterKey, contextOf(id)));

  return {
    readSession: (request: Request) => readCookie(request, sessionName),
    writeSession: (response: Response, id: string) =>
      response.cookie(sessionName, id, { ...strict, maxAge: SESSION_SECONDS * 1000 }),
    clearSession: (response: Response) => response.clearCookie(sessionName, strict),

    writeSignIn(response: Response, record: SignInState): void {
      const id = randomBytes(16).toString('base64url');
      const sealed = sealerOf(id).seal(JSON.stringify(record), contextOf(id));
      const maxAge = SIGN_IN_SECONDS * 1000;
      response.cookie(signInName, `${id}.${sealed}`, { ...base, sameSite: 'lax', maxAge });
    },
    /** Removes it. Undefined if there is none, or it is older than ten minutes. */
    takeSignIn(request: Request, response: Response): SignInState | undefined {
      const [, id = '', sealed = ''] =
        /^([\w-]{22})\.(.+)$/.exec(readCookie(request, signInName) ?? '') ?? [];
      response.clearCookie(signInName, { ...base, sameSite: 'lax' });
      const text = id && sealerOf(id).tryOpen(sealed, contextOf(id));
      const record = text ? signInState.parse(JSON.parse(text)) : undefined;
      return record && now() - record.at < SIGN_IN_SECONDS * 1000 ? record : undefined;
    },

    /** A name of a text that the next page shows. */
    writeNotice: (response: Response, name: string) =>
      response.cookie(noticeName, name, { ...strict, maxAge: 60_000 }),
    takeNotice(request: Request, response: Response): string | undefined {
      const name = readCookie(request, noticeName);
      if (name !== undefined) {
        response.clearCookie(noticeName, strict);
      }
      return name;
    },
  };
}

/** Undefined if the cookie was sent twice: one of them may be from another host. */
export function readCookie({ headers }: Request, name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split(/;[ \t]*/);
  const [found, other] = pairs.filter((pair) => pair.startsWith(`${name}=`));
  return other === undefined ? found?.slice(name.length + 1) : undefined;
}
