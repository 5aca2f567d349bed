import { type ConfigurationProblem, isLoopbackUrl } from '@gatehouse/configuration';
import type { BootstrapDefinition } from './bootstrap/bootstrap-schema.ts';
import { demoOrganizationId, readDemoIfPresent } from './bootstrap/demo.ts';
import type { Identity } from './open-identity.ts';
import { looksMadeUp } from './secrets/made-up-secret.ts';

export interface ProductionSubject {
  readonly publicUrl: string;
  readonly dataDirectory: string;
  /** Undefined where it could not be read, which is a problem of its own. */
  readonly masterKey: Buffer | undefined;
  readonly cookieKeys?: readonly string[] | undefined;
  readonly trustedProxies: readonly string[];
  readonly bootstrap: BootstrapDefinition | undefined;
}

/** What a public address must not be served with (SL-07, CF-01). Values are never quoted. */
export function productionProblems(subject: ProductionSubject): readonly ConfigurationProblem[] {
  if (isLoopbackUrl(subject.publicUrl)) {
    return [];
  }
  const problems: ConfigurationProblem[] = [];
  if (subject.masterKey !== undefined && looksMadeUp(subject.masterKey.toString('hex'))) {
    problems.push({ name: 'MASTER_KEY_FILE', message: 'holds a key that is not random' });
  }
  if (subject.cookieKeys?.some(looksMadeUp) === true) {
    problems.push({ name: 'COOKIE_KEYS_FILE', message: 'holds a key that is not random' });
  }
  if (subject.trustedProxies.some(isHalfTheInternet)) {
    const message = 'trusts more addresses than anybody has proxies: name yours';
    problems.push({ name: 'TRUSTED_PROXIES', message });
  }
  return [...problems, ...bootstrapProblems(subject)];
}

function bootstrapProblems({ bootstrap, dataDirectory }: ProductionSubject) {
  const demo = readDemoIfPresent(dataDirectory);
  const refuse = (path: string, secret: string | undefined): ConfigurationProblem[] => {
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
      refuse(`clients.${i}.secureKey`, secureKey),
    ),
    ...(bootstrap?.users ?? []).flatMap(({ password }, i) =>
      refuse(`users.${i}.password`, password),
    ),
  ];
}

/** `/0` is refused everywhere; two halves of the address space are no better. */
function isHalfTheInternet(range: string): boolean {
  const [address = '', prefix] = range.split('/');
  return prefix !== undefined && Number(prefix) < (address.includes(':') ? 16 : 8);
}

/** What the demo left in a store that a public address serves now: anybody may know its secrets. */
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
    message: `names a store with the demo ${kind}. Use another, or: npm run gatehouse -- ${command}`,
  });
  return [
    ...(isLeft(client) ? [advise('client', 'clients disable demo')] : []),
    ...(isLeft(user) ? [advise('user', 'users disable alice')] : []),
  ];
}
