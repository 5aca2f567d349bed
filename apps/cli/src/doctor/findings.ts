/** The findings of the command `doctor`. Those of records are in packages/operators. */
import { findingAdvice, findingSeverities } from '@gatehouse/operators';

/** The kinds of findings, with the advice of each: the consequence, then what to do. */
const findings = {
  /** Requests fail, data can be lost, or an attacker gains something. Act now. */
  error: {
    ...findingAdvice.error,
    variable_invalid:
      'A server with this environment does not start. Correct the variable (docs/configuration.md).',
    store_not_opened:
      'Without the store, every request gets 503. Start the servers once, and give commands and servers the same DATA_DIR or STORE_URL, and MASTER_KEY_FILE.',
    store_unavailable:
      'Without the store, every request gets 503. Check that the store runs, and that STORE_URL is correct.',
    url_not_https:
      'Passwords, codes and tokens travel without encryption. Put a TLS proxy in front, and set the variable to its https address.',
    url_unreachable:
      'Clients cannot reach the server. Check that the server runs. Then check DNS, the firewall, the proxy, and the certificate of the name.',
    url_of_another_service:
      'A redirect, another program, or the error page of a proxy answers at the address. Set the variable to the final address, or correct the proxy.',
    issuer_differs:
      'Clients reject metadata whose issuer or resource is not the address that they asked. Set the variable of the servers to the address that clients use.',
    operations_public:
      'Metrics tell attackers names of clients, load and failures. Publish only the ports of the servers, and forward no request to the operations ports.',
    verification_public:
      'With FORWARD_AUTH, a caller with a valid credential can get an internal token for itself. Let the proxy answer /_verify and every path below it with 404.',
    forged_address_accepted:
      'Any caller can choose its address, and evades rate limits and lists of allowed addresses. Let the outermost proxy replace X-Forwarded-For, and name only your proxies in TRUSTED_PROXIES.',
    app_not_ready:
      'A load balancer sends the server no requests, and requests get 503. Correct the failing check (docs/operations/monitor.md).',
  },
  /** This will fail, or is weaker than it needs to be. Plan a change. */
  warning: {
    ...findingAdvice.warning,
    variable_misspelled:
      'The servers ignore the variable and use its default. Correct the name of the variable.',
    file_exposed:
      'Another user of the machine can read a secret, or change it. Run the command of the finding. For files that Gatehouse created, gatehouse doctor --fix does it.',
    certificate_expires_soon:
      'Clients reject the server when the certificate has expired. Renew it, and check the automatic renewal.',
    proxy_not_trusted:
      'All callers have the address of the proxy, and share its rate limit. If it is the address of a proxy, and not of a NAT in front of this machine, add it to TRUSTED_PROXIES.',
    server_uses_other_store:
      'Commands for operators, such as revocations, have no effect on the server. Use the same STORE_URL or DATA_DIR for servers and commands.',
    versions_differ:
      'Servers of different versions may run together only during an upgrade. Complete it (docs/operations/upgrade.md).',
    clock_differs:
      'Signed requests and tokens depend on the time. Beyond 300 s, all signed requests fail. Synchronize the clocks of all machines: timedatectl set-ntp true.',
  },
  /** Worth knowing, or not checked. */
  notice: {
    ...findingAdvice.notice,
    url_not_checked:
      'Nothing answers at this loopback address. The server is stopped, or runs in another container. Start it, or run gatehouse doctor where clients run.',
    forwarding_not_checked:
      'The reply shows nothing about the address that the server sees. Send a request through the proxy, and compare the column FROM of gatehouse requests list with your address.',
  },
} as const;

type Severity = (typeof findingSeverities)[number];
export type FindingId = { [Each in Severity]: keyof (typeof findings)[Each] }[Severity];

export type Finding = ReturnType<typeof finding>;

/**
 * One problem of an installation, with its fix. Never contains a secret.
 *
 * @param what the problem, with its names and figures
 */
export function finding(id: FindingId, what: string) {
  const severity = findingSeverities.find((each) => id in findings[each]) ?? 'error';
  const fixes: Readonly<Record<string, string>> = findings[severity];
  return { id, severity, what, fix: fixes[id] };
}

/** The findings for people. */
export function describeFindings(found: readonly Finding[]): string {
  const described = found.map(
    ({ id, severity, what, fix }) => `${severity.toUpperCase()}  ${what}  (${id})\n  Fix: ${fix}`,
  );
  const count = found.length === 0 ? 'no' : found.length;
  return [...described, `Found ${count} problem${found.length > 1 ? 's' : ''}.`].join('\n\n');
}
