import { type Identity, type SigningKeyPolicy, signingKeyCreatedAt } from '@gatehouse/identity';
import { type Finding, finding } from '../finding.ts';

const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;

const keys = [
  ['authorization server', 'authorization-server', 'RS256'],
  ['gateway', 'gateway', 'EdDSA'],
] as const;

/** The servers rotate their signing keys. An older key shows that they do not. */
export async function checkSigningKeys(
  identity: Identity,
  { rotateAfterSeconds }: SigningKeyPolicy,
  now: number,
): Promise<readonly Finding[]> {
  const findings = await Promise.all(
    keys.map(async ([name, purpose, algorithm]) => {
      const createdAt = await signingKeyCreatedAt(purpose, algorithm, identity);
      const days = createdAt === undefined ? 0 : Math.floor((now - createdAt) / DAY_MILLISECONDS);
      const dueDays = Math.round((rotateAfterSeconds * 1000) / DAY_MILLISECONDS);
      return days <= dueDays
        ? []
        : [
            finding(
              'signing_key_not_rotated',
              `The signing key of the ${name} is ${days} days old. It was due after ${dueDays} days.`,
            ),
          ];
    }),
  );
  return findings.flat();
}
