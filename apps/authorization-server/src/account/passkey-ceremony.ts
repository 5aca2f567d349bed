/**
 * The two ceremonies of WebAuthn Level 3: a browser adds a passkey, or proves that it has one. Each
 * starts with a page that has a form with options. pages/assets/passkey.js runs the ceremony and
 * posts the result. The challenge is in a sealed cookie of the page, and works once.
 *
 * The library is only needed to verify. Origin and RP ID come from the issuer, never from a request.
 */

import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import {
  type Identity,
  type NewPasskey,
  PASSKEY_CHALLENGE_SECONDS,
  type Passkey,
  parseRecord,
  passkeySchema,
  type User,
} from '@gatehouse/identity';
import { type Html, html } from '@gatehouse/server';
import { z } from 'zod';
import type { Texts } from '../pages/texts-en.ts';
import type { BrowserState } from '../provider/browser-state.ts';

/** EdDSA, ES256 and RS256, which every current authenticator has one of. */
const algorithms = [-8, -7, -257];
/** It identifies its user without a username, and verifies the user: by PIN, finger or face. */
const authenticatorSelection = {
  residentKey: 'required',
  requireResidentKey: true,
  userVerification: 'required',
};
const TIMEOUT_MILLISECONDS = 10 * 60 * 1000;

/** What is used before the library checks the rest. */
const postedSchema = z.looseObject({
  id: z.string(),
  response: z.looseObject({
    clientDataJSON: z.string(),
    attestationObject: z.string().default(''),
    transports: passkeySchema.shape.transports.catch([]),
    userHandle: z.string().max(86).nullish(),
  }),
});

/** That a browser has a passkey, before it is verified. */
export type PasskeyAssertion = z.infer<typeof postedSchema>;

/** The page of a ceremony: browsers send its cookie only there. */
export interface CeremonyPage {
  readonly path: string;
  /** The interaction or session that the challenge is for. */
  readonly owner: string;
}

export type PasskeyCeremonies = ReturnType<typeof createPasskeyCeremonies>;

export function createPasskeyCeremonies(dependencies: {
  readonly identity: Pick<Identity, 'passkeys'>;
  readonly browserState: Pick<BrowserState, 'passkeyChallenges'>;
  readonly issuer: string;
}) {
  const { startChallenge, once } = createChallenges(dependencies);
  const { origin, hostname: rpId } = new URL(dependencies.issuer);
  const expectations = {
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
  } as const;

  return {
    /** Browsers need a domain: an IP address cannot have passkeys (WebAuthn §5.1.3). */
    isPossible: isIP(rpId.replace(/^\[|\]$/g, '')) === 0,

    /** @param existing the browser does not add a second one to the same authenticator */
    creationOptions: (page: CeremonyPage, user: User, existing: readonly Passkey[] = []): string =>
      JSON.stringify({
        challenge: startChallenge(page),
        rp: { id: rpId, name: rpId },
        user: {
          id: Buffer.from(user.userId).toString('base64url'),
          name: user.username,
          displayName: user.name,
        },
        pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: existing.map(describe),
        authenticatorSelection,
        attestation: 'none',
        timeout: TIMEOUT_MILLISECONDS,
      }),

    /** @param allowed none: the browser offers every passkey that it has for this server */
    requestOptions: (page: CeremonyPage, allowed: readonly Passkey[] = []): string =>
      JSON.stringify({
        challenge: startChallenge(page),
        rpId,
        allowCredentials: allowed.map(describe),
        userVerification: 'required',
        timeout: TIMEOUT_MILLISECONDS,
      }),

    /** The new passkey, without its name. Undefined if anything about it is wrong. */
    verifyRegistration: (page: CeremonyPage, posted: string) =>
      once(page, async (expectedChallenge): Promise<Omit<NewPasskey, 'name'> | undefined> => {
        const response = parsePosted(posted);
        if (response === undefined || !isAnonymous(response) || isFramed(response)) {
          return undefined;
        }
        const { registrationInfo: found } = await loadLibrary().verifyRegistrationResponse({
          ...expectations,
          response: response as never,
          expectedChallenge,
          supportedAlgorithmIDs: algorithms,
        });
        const { credential } = found ?? {};
        return passkeySchema.omit({ name: true }).safeParse({
          ...credential,
          publicKey: Buffer.from(credential?.publicKey ?? []).toString('base64url'),
          transports: response.response.transports,
          isDeviceBound: found?.credentialDeviceType === 'singleDevice',
          isBackedUp: found?.credentialBackedUp,
        }).data;
      }),

    /** Undefined if it is not the form of an assertion. */
    parseAssertion: parsePosted,

    /** Undefined if the assertion is not by this passkey, for this page, or was used before. */
    verifyAssertion: (page: CeremonyPage, assertion: PasskeyAssertion, passkey: Passkey) =>
      once(page, async (expectedChallenge) => {
        const publicKey = Buffer.from(passkey.publicKey, 'base64url');
        const { verified, authenticationInfo: use } =
          await loadLibrary().verifyAuthenticationResponse({
            ...expectations,
            response: assertion as never,
            expectedChallenge,
            // The registry compares the counter, under its lock.
            credential: { ...passkey, publicKey, counter: 0 } as never,
          });
        return verified && !isFramed(assertion)
          ? { counter: use.newCounter, isBackedUp: use.credentialBackedUp }
          : undefined;
      }),
  };
}

function createChallenges({
  identity: { passkeys },
  browserState: { passkeyChallenges: cookies },
}: Omit<Parameters<typeof createPasskeyCeremonies>[0], 'issuer'>) {
  function startChallenge({ path, owner }: CeremonyPage): string {
    const challenge = passkeys.newChallenge();
    const until = Date.now() + PASSKEY_CHALLENGE_SECONDS * 1000;
    cookies.write(path, `${challenge} ${until} ${owner}`, PASSKEY_CHALLENGE_SECONDS);
    return challenge;
  }

  /**
   * What `verify` returns for the challenge of the page, which this uses up. A failed verification
   * uses up nothing, so that only holders of a passkey write into the store.
   */
  async function once<Result>(
    { path, owner }: CeremonyPage,
    verify: (expectedChallenge: string) => Promise<Result | undefined>,
  ): Promise<Result | undefined> {
    const [challenge = '', until, of] = (cookies.read(path) ?? '').split(' ');
    if (of !== owner || Date.now() >= Number(until)) {
      return undefined;
    }
    // The library throws for anything unexpected. It does not use the store.
    const result = await verify(challenge).catch(() => undefined);
    return result && (await passkeys.claimChallenge(challenge)) ? result : undefined;
  }

  return { startChallenge, once };
}

const describe = ({ id, transports }: Passkey) => ({ type: 'public-key', id, transports });

/** Only for the first verification: it needs 17 MB and 0.2 s. */
const load = createRequire(import.meta.url);
const loadLibrary = (): typeof import('@simplewebauthn/server') => load('@simplewebauthn/server');

const parsePosted = (posted: string): PasskeyAssertion | undefined =>
  parseRecord(postedSchema, posted);

/**
 * Without certificates. Gatehouse asks for no attestation, and the library would fetch revocation
 * lists from addresses in certificates, which a caller can choose (CWE-918).
 */
function isAnonymous({ response }: PasskeyAssertion): boolean {
  const helpers: typeof import('@simplewebauthn/server/helpers') = load(
    '@simplewebauthn/server/helpers',
  );
  const bytes = Uint8Array.from(Buffer.from(response.attestationObject, 'base64url'));
  const attestation = helpers.decodeAttestationObject(bytes);
  const format = attestation.get('fmt');
  return (
    format === 'none' ||
    (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined)
  );
}

/** From a frame on the page of another site, which no page of this server allows. */
function isFramed({ response }: PasskeyAssertion): boolean {
  const clientData = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString());
  return clientData.crossOrigin === true;
}

/**
 * What a passkey proves with a verified user (RFC 8176). Authenticators say themselves whether the
 * key leaves them.
 */
export const methodsOf = ({ isDeviceBound }: Pick<Passkey, 'isDeviceBound'>): string[] => [
  isDeviceBound ? 'hwk' : 'swk',
  'user',
];

/** The form of a ceremony. Browsers without script or support for passkeys never show it. */
export function passkeyForm(
  { texts, csrf }: { readonly texts: Texts; readonly csrf: Html },
  form: {
    readonly action: string;
    readonly options: string;
    /** `conditional`: the browser also offers passkeys in the field for the username. */
    readonly kind: 'create' | 'get' | 'conditional';
    /** The page has a form that is offered first. */
    readonly isSecondary?: boolean;
    readonly label: string;
    readonly fields?: Html;
  },
): Html {
  const { action, options, kind, label, fields } = form;
  const problem = kind === 'create' ? texts.passkeyProblems.wrong : texts.passkeyFailed;
  const primary = form.isSecondary ? undefined : html` class="primary"`;
  return html`<form class="passkey" method="post" action="${action}" data-passkey="${kind}" data-options="${options}" hidden>
${csrf}
<input type="hidden" name="passkey" value="">
${fields}
<p class="problem" role="alert" hidden>${problem}</p>
<button${primary} type="submit">${label}</button>
</form>`;
}
