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

/** The `acr` that a request asks for: it is satisfied by one of the values, or a stronger one. */
export interface RequestedAcr {
  /** None: the request asks for nothing that Gatehouse knows. */
  readonly values: readonly Acr[];
  /** Otherwise, the user is signed in with what is possible (OpenID Connect Core §5.5.1.1). */
  readonly isEssential: boolean;
}

/** From `acr_values`, or `acr` in `claims`, whose form was checked. As in the library, the former counts. */
export function requestedAcr({
  acr_values: list,
  claims,
}: Readonly<Record<string, unknown>>): RequestedAcr {
  const known = (values: readonly unknown[]) => acrValues.filter((each) => values.includes(each));
  if (typeof list === 'string' && list !== '') {
    return { values: known(list.split(' ')), isEssential: false };
  }
  const claim = typeof claims === 'string' ? JSON.parse(claims).id_token?.acr : undefined;
  const isEssential = claim?.essential === true;
  return { values: known(claim?.values ?? [claim?.value]), isEssential };
}

/** The level that satisfies the request. */
export function requestedLevel({ values: [weakest] }: RequestedAcr): number {
  return acrLevel(weakest);
}

/**
 * What tokens report. A client that asks for a value must get one that it asked for, so a stronger
 * session reports the strongest of them.
 */
export function reportedAcr(session: string | undefined, { values }: RequestedAcr) {
  const satisfied = values.filter((value) => acrLevel(value) <= acrLevel(session));
  return satisfied.at(-1) ?? session;
}
