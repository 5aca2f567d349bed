import { demoProblems, type Identity, productionProblems } from '@gatehouse/identity';
import { findMisspelledVariables, isLoopbackUrl } from '@gatehouse/server/configuration';
import { type Finding, finding } from '../finding.ts';
import type { Installation } from '../installation.ts';

/** Variables that the servers ignore, or that make them refuse to start. */
export function checkConfiguration(installation: Installation): readonly Finding[] {
  const { environment, servers, dataDirectory, variables } = installation;
  const misspelled = findMisspelledVariables(environment);
  const weak = servers.flatMap(({ url }) =>
    productionProblems({
      publicUrl: url,
      dataDirectory,
      masterKey: undefined,
      trustedProxies: variables.TRUSTED_PROXIES ?? [],
      bootstrap: undefined,
    }),
  );
  return [
    ...misspelled.problems.map(({ name, message }) =>
      finding('variable_invalid', `${name}: ${message}`),
    ),
    ...misspelled.warnings.map((what) => finding('variable_misspelled', what)),
    ...distinct(weak.map(({ name, message }) => `${name} ${message}.`)).map((what) =>
      finding('production_setting_weak', what),
    ),
    ...servers
      .filter(({ url }) => url.startsWith('http:') && !isLoopbackUrl(url))
      .map(({ variable, url }) => finding('url_not_https', `${variable} is ${url}.`)),
  ];
}

export async function checkDemo(
  { servers }: Installation,
  identity: Identity,
): Promise<readonly Finding[]> {
  if (servers.every(({ url }) => isLoopbackUrl(url))) {
    return [];
  }
  const problems = await demoProblems(identity);
  return problems.map(({ name, message }) => finding('demo_in_production', `${name} ${message}.`));
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
