import type { Client, Identity } from '@gatehouse/identity';
import { isLoopbackUrl } from '@gatehouse/server/configuration';
import { type Finding, finding } from '../finding.ts';
import type { FindingId } from '../finding-catalogue.ts';
import { listed } from './listed-clients.ts';

const DAY_SECONDS = 24 * 60 * 60;
const OLD_KEY_DAYS = 365;
/** A rotation that takes longer was probably forgotten. */
const LONG_ROTATION_DAYS = 30;
const WEAK_GRANTS = ['password', 'implicit'];

type Test = (client: Client) => boolean;

/** Weak settings and old keys of the enabled clients. One finding names all clients of a kind. */
export async function checkClients(
  { clients }: Pick<Identity, 'clients'>,
  now: number,
): Promise<readonly Finding[]> {
  const enabled = (await clients.list()).filter((client) => client.enabled);
  const ages = (client: Client) =>
    clients
      .describeKeys(client)
      .map(({ createdAt }) => (createdAt === undefined ? 0 : now / 1000 - createdAt) / DAY_SECONDS);
  const tests: readonly (readonly [FindingId, string, Test])[] = [
    [
      'client_uses_md5',
      'sign with MD5',
      ({ signatureAlgorithm, public: isPublic }) => !isPublic && signatureAlgorithm === 'MD5',
    ],
    [
      'client_has_weak_grant',
      'have the password or the implicit grant',
      ({ grantTypes }) => grantTypes.some((grant) => WEAK_GRANTS.includes(grant)),
    ],
    [
      'redirect_uri_not_https',
      'have a redirect URI with http',
      ({ redirectUris }) => redirectUris.some(isPlainHttp),
    ],
    [
      'secure_key_old',
      `have a secure key that is older than ${OLD_KEY_DAYS} days`,
      (client) => ages(client).some((days) => days > OLD_KEY_DAYS),
    ],
    [
      'client_has_two_keys',
      `have had two secure keys for more than ${LONG_ROTATION_DAYS} days`,
      (client) => ages(client).filter((days) => days > LONG_ROTATION_DAYS).length > 1,
    ],
  ];
  return tests.flatMap(([id, what, test]) => {
    const found = enabled.filter(test).map(({ clientId }) => clientId);
    return found.length === 0 ? [] : [finding(id, `${listed(found)} ${what}.`)];
  });
}

/** A native application may use http with a loopback address (RFC 8252 §7.3). */
function isPlainHttp(uri: string): boolean {
  return uri.startsWith('http://') && !isLoopbackUrl(uri);
}
