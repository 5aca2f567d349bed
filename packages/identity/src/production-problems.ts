import { type ConfigurationProblem, isLoopbackUrl } from '@gatehouse/server/configuration';
import type { BootstrapDefinition } from './bootstrap/bootstrap-schema.ts';
import { demoOrganizationId, readDemoIfPresent } from './bootstrap/demo.ts';
import type { Identity } from './open-identity.ts';
import type { MasterKeys } from './secrets/master-key.ts';
import { looksMadeUp } from './secrets/secure-keys.ts';

interface ProductionSubject {
  readonly publicUrl: string;
  readonly dataDirectory: string;
  /** Undefined if the key cannot be read, which is reported separately. */
  readonly masterKey: MasterKeys | undefined;
  readonly cookieKeys?: readonly string[] | undefined;
  readonly trustedProxies: readonly string[];
  readonly bootstrap: BootstrapDefinition | undefined;
}

/** Settings that are too weak for a public address. Messages never quote values. */
export function productionProblems(subject: ProductionSubject): readonly ConfigurationProblem[] {
  if (isLoopbackUrl(subject.publicUrl)) {
    return [];
  }
  const { masterKey, cookieKeys, trustedProxies } = subject;
  const isMadeUp = masterKey?.keys().some((key) => looksMadeUp(key.toString('hex')));
  const trustsTooMany = trustedProxies.some(isHalfTheInternet);
  return [
    ...(isMadeUp ? [{ name: 'MASTER_KEY_FILE', message: NOT_RANDOM }] : []),
    ...(cookieKeys?.some(looksMadeUp) ? [{ name: 'COOKIE_KEYS_FILE', message: NOT_RANDOM }] : []),
    ...(trustsTooMany ? [{ name: 'TRUSTED_PROXIES', message: TOO_MANY }] : []),
    ...bootstrapProblems(subject),
  ];
}

const NOT_RANDOM = 'contains a key that is not random';
const TOO_MANY = 'trusts too many addresses. Name only your proxies';

function bootstrapProblems({ bootstrap, dataDirectory }: ProductionSubject) {
  const demo = readDemoIfPresent(dataDirectory);
  const problemsOf = (path: string, secret: string | undefined): ConfigurationProblem[] => {
    if (secret === undefined) {
      return [];
    }
    const name = `BOOTSTRAP_FILE ${path}`;
    if (secret === demo?.secureKey || secret === demo?.password) {
      return [{ name, message: 'is the secret of the demo' }];
    }
    return looksMadeUp(secret) ? [{ name, message: 'is not random' }] : [];
  };
  return [
    ...(bootstrap?.clients ?? []).flatMap(({ secureKey }, i) =>
      problemsOf(`clients.${i}.secureKey`, secureKey),
    ),
    ...(bootstrap?.users ?? []).flatMap(({ password }, i) =>
      problemsOf(`users.${i}.password`, password),
    ),
  ];
}

/** The configuration rejects `/0`. Two halves of the address space have the same effect. */
function isHalfTheInternet(range: string): boolean {
  const [address = '', prefix] = range.split('/');
  return prefix !== undefined && Number(prefix) < (address.includes(':') ? 16 : 8);
}

/** Finds the demo in a store that a public address serves. Its secrets may be known to others. */
export async function demoProblems({
  clients,
  users,
}: Pick<Identity, 'clients' | 'users'>): Promise<readonly ConfigurationProblem[]> {
  const client = await clients.find('demo');
  const user = await users.findByUsername('alice');
  const isLeft = (record: typeof client | typeof user) =>
    record?.enabled === true && record.orgId === demoOrganizationId;
  const advise = (kind: string, command: string): ConfigurationProblem => ({
    name: 'STORE_URL',
    message: `names a store with the demo ${kind}. Use another store, or run: gatehouse ${command}`,
  });
  return [
    ...(isLeft(client) ? [advise('client', 'clients change demo --disable')] : []),
    ...(isLeft(user) ? [advise('user', 'users change alice --disable')] : []),
  ];
}
