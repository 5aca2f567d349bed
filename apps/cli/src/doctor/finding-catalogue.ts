import { databaseFindings } from './database-findings.ts';
import type { FindingEntry } from './severity.ts';

/** Every kind of finding, with what doctor prints. */
export const findingCatalogue = {
  variable_invalid: {
    severity: 'error',
    why: 'A server with this environment does not start.',
    fix: 'Correct the variable. docs/configuration.md describes it.',
  },
  variable_misspelled: {
    severity: 'warning',
    why: 'The servers ignore the variable and use its default.',
    fix: 'Correct the name of the variable.',
  },
  production_setting_weak: {
    severity: 'error',
    why: 'A server with a public address does not start with this setting, because others could guess a secret.',
    fix: 'Generate a new secret, and restart the servers.',
  },
  demo_in_production: {
    severity: 'error',
    why: 'Others may know the secrets of the demo. A server with a public address does not start.',
    fix: 'Disable the demo client and the demo user.',
  },
  file_exposed: {
    severity: 'warning',
    why: 'Another user of the machine can read a secret, or change it.',
    fix: 'Run the command of the finding. For files that Gatehouse created, gatehouse doctor --fix does it.',
  },
  data_on_network_disk: {
    severity: 'error',
    why: 'SQLite needs locks and shared memory that network file systems do not provide. The store can be damaged.',
    fix: 'Move the file to a disk of this machine, or use Redis (STORE_URL) and PostgreSQL (DATABASE_URL).',
  },
  disk_nearly_full: {
    severity: 'warning',
    why: 'On a full disk, all writes fail, and the servers answer 503.',
    fix: 'Free space, or move the files to a larger disk.',
  },
  store_missing: {
    severity: 'error',
    why: 'The commands and the servers use different stores, or no server has started yet.',
    fix: 'Start the servers once, or set DATA_DIR or STORE_URL to the value that the servers use.',
  },
  store_unavailable: {
    severity: 'error',
    why: 'Without the store, every request gets 503.',
    fix: 'Check that the store runs, and that STORE_URL is correct.',
  },
  store_master_key_wrong: {
    severity: 'error',
    why: 'A server with another master key can read no record, so it does not start.',
    fix: 'Set MASTER_KEY_FILE to the key with which the store was created.',
  },
  store_may_lose_writes: {
    severity: 'warning',
    why: 'After a restart or failover, revoked credentials could be valid again.',
    fix: 'Change the settings of Redis as the finding describes.',
  },
  store_nearly_full: {
    severity: 'warning',
    why: 'A full store accepts no new tokens and no sign-ins.',
    fix: 'Raise maxmemory (Redis), free disk space (SQLite), or find the cause: gatehouse_store_used_bytes.',
  },
  store_without_limit: {
    severity: 'notice',
    why: 'Redis can take all memory of its machine. The operating system then kills a process.',
    fix: 'Set maxmemory in redis.conf, with the policy noeviction.',
  },
  store_slow: {
    severity: 'warning',
    why: 'Each request waits at least once for the store.',
    fix: 'Run the store in the same network as the servers, and check its load.',
  },
  ...databaseFindings,
  signing_key_not_rotated: {
    severity: 'warning',
    why: 'A key that signs for a long time gives an attacker more time to find it. Rotation needs a running server.',
    fix: 'Start the servers, and check their logs for the store and its record of signing keys.',
  },
  secure_key_old: {
    severity: 'notice',
    why: 'The longer a key is in use, the more places have a copy of it.',
    fix: 'Rotate the key of the client, and give its team time to change: gatehouse clients rotate-key.',
  },
  client_has_two_keys: {
    severity: 'notice',
    why: 'Both keys of the client are valid. A rotation ends only when the old key is removed.',
    fix: 'Remove the old key when the client uses the new one: gatehouse clients remove-key.',
  },
  client_uses_md5: {
    severity: 'warning',
    why: 'MD5 is broken, and the strict security profile rejects it.',
    fix: 'Change the client to SHA-256 or HMAC-SHA-256: gatehouse clients change CLIENT --signature-algorithm SHA-256.',
  },
  client_has_weak_grant: {
    severity: 'notice',
    why: 'The password grant gives the password to the application. The implicit grant puts tokens into URLs. RFC 9700 advises against both.',
    fix: 'Use the authorization code flow, and remove the grant from the client.',
  },
  redirect_uri_not_https: {
    severity: 'warning',
    why: 'The authorization code travels without encryption.',
    fix: 'Register an https redirect URI.',
  },
  url_not_https: {
    severity: 'error',
    why: 'Passwords, codes and tokens travel without encryption.',
    fix: 'Put a TLS proxy in front, and set the variable to its https address (docs/operations/deploy.md).',
  },
  url_unreachable: {
    severity: 'error',
    why: 'Clients cannot reach the server.',
    fix: 'Check that the server runs. Then check DNS, the firewall, the proxy, and the certificate of the name.',
  },
  url_not_checked: {
    severity: 'notice',
    why: 'Nothing answers at this loopback address. The server is stopped, or runs elsewhere: in another container, for example.',
    fix: 'Start the server, or run gatehouse doctor where clients run.',
  },
  url_redirects: {
    severity: 'error',
    why: 'Clients compare the issuer exactly, and most do not follow redirects of these requests.',
    fix: 'Set the variable to the address to which the server redirects, or correct the proxy.',
  },
  url_of_another_service: {
    severity: 'error',
    why: 'Another program, or the error page of a proxy, answers at the address.',
    fix: 'Correct the address, or the target of the proxy.',
  },
  issuer_differs: {
    severity: 'error',
    why: 'Clients reject metadata whose issuer or resource is not the address that they asked.',
    fix: 'Set the variable of the servers to the address that clients use.',
  },
  certificate_expires_soon: {
    severity: 'warning',
    why: 'Clients reject the server when the certificate has expired.',
    fix: 'Renew the certificate, and check the automatic renewal.',
  },
  hsts_missing: {
    severity: 'notice',
    why: 'A browser that enters the name uses http first, which an attacker can intercept.',
    fix: 'Let the proxy send Strict-Transport-Security: max-age=31536000.',
  },
  redirect_keeps_token: {
    severity: 'warning',
    why: 'A client that uses http by mistake sends its token in the clear, and gets no error that it would notice.',
    fix: 'Close port 80, or let the proxy answer http with 403 instead of a redirect.',
  },
  headers_removed: {
    severity: 'warning',
    why: 'Clients need the header to authenticate, or to report a failed request.',
    fix: 'Let the proxy pass on all headers of replies.',
  },
  operations_public: {
    severity: 'error',
    why: 'Metrics tell attackers names of clients, load and failures.',
    fix: 'Publish only the ports of the servers, and forward no request to the operations ports.',
  },
  verification_public: {
    severity: 'error',
    why: 'With FORWARD_AUTH, a caller with a valid credential can get an internal token for itself.',
    fix: 'Let the proxy answer /_verify and every path below it with 404 (docs/operations/deploy.md#put-a-tls-proxy-in-front).',
  },
  explorer_public: {
    severity: 'notice',
    why: 'Every caller can open the API explorer. It shares the origin of your services, whose pages could read what users enter.',
    fix: 'Remove EXPLORER=true from the gateway, unless developers need the explorer at this address.',
  },
  forged_address_accepted: {
    severity: 'error',
    why: 'Any caller can choose its address, and evades rate limits and lists of allowed addresses.',
    fix: 'Let the outermost proxy replace X-Forwarded-For, and name only your proxies in TRUSTED_PROXIES.',
  },
  proxy_not_trusted: {
    severity: 'warning',
    why: 'All callers have the address of the proxy, and share its rate limit.',
    fix: 'If it is the address of a proxy, and not of a NAT in front of this machine, add it to TRUSTED_PROXIES, and restart the servers.',
  },
  forwarding_not_checked: {
    severity: 'notice',
    why: 'The reply shows nothing about the address that the server sees.',
    fix: 'Send a request through the proxy, and compare the column FROM of gatehouse requests list with your address.',
  },
  server_uses_other_store: {
    severity: 'warning',
    why: 'Commands for operators, such as revocations, have no effect on the server.',
    fix: 'Use the same STORE_URL or DATA_DIR for servers and commands.',
  },
  app_not_ready: {
    severity: 'error',
    why: 'A load balancer sends the server no requests, and requests get 503.',
    fix: 'Correct the failing check. docs/operations/monitor.md#health-checks has an action for each.',
  },
  versions_differ: {
    severity: 'warning',
    why: 'Servers of different versions may run together only during an upgrade.',
    fix: 'Complete the upgrade: docs/operations/upgrade.md.',
  },
  version_not_supported: {
    severity: 'warning',
    why: 'Gatehouse is not tested with this version, and it may lack functions that Gatehouse needs.',
    fix: 'Upgrade Redis to 7.0 or later, or PostgreSQL to 15 or later.',
  },
  client_unused: {
    severity: 'notice',
    why: 'The secure key of an unused client can be stolen without anybody noticing.',
    fix: 'Ask the owner of the client, then run gatehouse clients disable CLIENT. Rare requests may leave no entry.',
  },
  clock_differs: {
    severity: 'warning',
    why: 'Signed requests, tokens and ID tokens depend on the time. Beyond 300 s, all signed requests fail.',
    fix: 'Synchronize the clocks of all machines with NTP: timedatectl set-ntp true.',
  },
} as const satisfies Readonly<Record<string, FindingEntry>>;

export type FindingId = keyof typeof findingCatalogue;
