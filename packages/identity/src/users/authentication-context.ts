/** How strongly a user signed in: the `acr` of sessions and tokens (OpenID Connect Core §2). */
import { isOperatorApi } from '../settings/operators.ts';
import type { Settings } from '../settings/settings.ts';

/** The password, or what replaces it. */
export const ONE_FACTOR = 'urn:gatehouse:acr:1';
/** In addition a code of an authenticator app, or a recovery code. */
export const TWO_FACTORS = 'urn:gatehouse:acr:2';

/**
 * A passkey that verified its user, alone or after the password (OpenID Connect Extended
 * Authentication Profile ACR Values 1.0).
 */
export const PHISHING_RESISTANT = 'phr';

/** Weakest first: each satisfies those before it. */
export const acrValues = [ONE_FACTOR, TWO_FACTORS, PHISHING_RESISTANT] as const;

export type Acr = (typeof acrValues)[number];

/** 1 to 3. Sessions and tokens of earlier releases have no `acr`: their users had one factor. */
export function acrLevel(acr: string | undefined): number {
  const values: readonly unknown[] = acrValues;
  return Math.max(1, values.indexOf(acr) + 1);
}

/**
 * Whether users may get the scopes of the resource with this `acr`. The API of the console needs a
 * second factor, whatever operators require elsewhere.
 */
export const isAcrEnough = (
  acr: string | undefined,
  resource: string | undefined,
  settings: Pick<Settings, 'operators'>,
): boolean => !isOperatorApi(resource, settings) || acrLevel(acr) >= acrLevel(TWO_FACTORS);

/** The `acr` of a sign-in with these methods (RFC 8176). */
export function acrOfMethods(amr: readonly string[]): Acr {
  if (amr.includes('user')) {
    return PHISHING_RESISTANT;
  }
  return amr.includes('mfa') ? TWO_FACTORS : ONE_FACTOR;
}

/**
 * The `acr` that a request asks for, from `acr_values`, or `acr` in `claims`, whose form was checked.
 * As in the library, the former counts. One of the values, or a stronger one, satisfies the request.
 */
export function requestedAcr({ acr_values: list, claims }: Readonly<Record<string, unknown>>) {
  const isList = typeof list === 'string' && list !== '';
  const claim =
    !isList && typeof claims === 'string' ? JSON.parse(claims).id_token?.acr : undefined;
  const named: readonly unknown[] = isList ? list.split(' ') : (claim?.values ?? [claim?.value]);
  const values = acrValues.filter((each) => named.includes(each));
  return {
    /** None: the request asks for nothing that Gatehouse knows. */
    values,
    level: acrLevel(values[0]),
    /** Otherwise, the user is signed in with what is possible (OpenID Connect Core §5.5.1.1). */
    isEssential: claim?.essential === true,
  };
}

/**
 * What tokens report. A client that asks for a value must get one that it asked for, so a stronger
 * session reports the strongest of them.
 */
export function reportedAcr(
  session: string | undefined,
  { values }: Pick<ReturnType<typeof requestedAcr>, 'values'>,
) {
  const satisfied = values.filter((value) => acrLevel(value) <= acrLevel(session));
  return satisfied.at(-1) ?? session;
}
