/** How long credentials are valid: what operators may set, and what applies to a token. */
import { z } from 'zod';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * In seconds. A longer time than `sane` is allowed, with a warning: a stolen credential stays useful
 * for so long.
 */
const bounds = {
  accessToken: { usual: 2 * HOUR, shortest: MINUTE, sane: DAY, longest: 30 * DAY },
  /** From the sign-in. Rotation does not extend it. */
  refreshToken: { usual: 30 * DAY, shortest: HOUR, sane: 90 * DAY, longest: 365 * DAY },
  /** Since its issue: a refresh token that is not used for so long expires. */
  refreshTokenIdle: { usual: 365 * DAY, shortest: HOUR, sane: 365 * DAY, longest: 365 * DAY },
  code: { usual: 10 * MINUTE, shortest: 10, sane: 10 * MINUTE, longest: 10 * MINUTE },
  idToken: { usual: HOUR, shortest: MINUTE, sane: DAY, longest: 7 * DAY },
  /** From the sign-in. */
  session: { usual: 365 * DAY, shortest: 5 * MINUTE, sane: 365 * DAY, longest: 365 * DAY },
  /** Since the last use of the session. */
  sessionIdle: { usual: 14 * DAY, shortest: 5 * MINUTE, sane: 90 * DAY, longest: 365 * DAY },
  deviceCode: { usual: 10 * MINUTE, shortest: MINUTE, sane: 30 * MINUTE, longest: 30 * MINUTE },
} as const;

type Name = keyof typeof bounds;

const names = Object.keys(bounds) as Name[];

function seconds(name: Name) {
  const { shortest, longest } = bounds[name];
  const message = `must be ${shortest} to ${longest} seconds`;
  return z.int().min(shortest, message).max(longest, message).optional();
}

const members = Object.fromEntries(names.map((name) => [name, seconds(name)])) as Record<
  Name,
  ReturnType<typeof seconds>
>;

/** `lifetimes` of the bootstrap file, for the installation. */
export const installationLifetimes = z.strictObject(members);

const { session: _session, sessionIdle: _sessionIdle, ...clientMembers } = members;

/** `lifetimes` of a client. */
export const clientLifetimes = z.strictObject(clientMembers);

/** `lifetimes` of a resource. */
export const resourceLifetimes = z.strictObject({ accessToken: members.accessToken });

export type LifetimeSettings = Readonly<z.infer<typeof installationLifetimes>>;

export type Lifetimes = Readonly<Record<Name, number>>;

/**
 * What applies to the credentials of a request: the setting of the client, otherwise of the
 * installation. Of an access token, the shorter one of client and resource.
 */
export function lifetimesOf(
  installation: LifetimeSettings,
  client: LifetimeSettings = {},
  resource: LifetimeSettings = {},
): Lifetimes {
  const all = Object.fromEntries(
    names.map((name) => [name, client[name] ?? installation[name] ?? bounds[name].usual]),
  ) as Lifetimes;
  const accessToken = Math.min(
    resource.accessToken ?? all.accessToken,
    client.accessToken ?? Number.POSITIVE_INFINITY,
  );
  return { ...all, accessToken };
}

/** Sentences about lifetimes that are longer than usual. @param place where they are set */
export function lifetimeWarnings(place: string, set: LifetimeSettings = {}): readonly string[] {
  return names
    .filter((name) => (set[name] ?? 0) > bounds[name].sane)
    .map(
      (name) =>
        `${place}lifetimes.${name}: a stolen credential stays valid for ${set[name]} seconds`,
    );
}

/**
 * A consent outlives its refresh tokens. Otherwise, a refresh would fail early. It also outlives
 * the longest access token.
 */
export const grantSeconds = ({ refreshToken }: Pick<Lifetimes, 'refreshToken'>): number =>
  Math.max(2 * bounds.accessToken.longest, refreshToken + 30 * DAY);
