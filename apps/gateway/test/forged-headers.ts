/**
 * Headers with which a caller could claim an origin (GW-19), an identity (GW-20) or another request
 * (GW-21) at a service: id, name and value. The gateway and the proxies of deploy/forward-auth must
 * remove all of them.
 */
export const forgedHeaders = [
  ['GW-19', 'X-Forwarded-For', '192.0.2.1'],
  ['GW-19', 'X-Forwarded-Proto', 'https'],
  ['GW-19', 'X-Forwarded-Host', 'evil.example'],
  ['GW-19', 'X-Forwarded-Port', '1'],
  ['GW-19', 'X-Forwarded-Prefix', '/evil'],
  ['GW-19', 'Forwarded', 'for=192.0.2.1'],
  ['GW-19', 'X-Real-IP', '192.0.2.1'],
  ['GW-20', 'X-User-Id', 'admin'],
  ['GW-20', 'X-Auth-Subject', 'admin'],
  ['GW-20', 'X-Consumer-Username', 'admin'],
  ['GW-20', 'X_User_Id', 'admin'],
  ['GW-20', 'X_Auth_Subject', 'admin'],
  ['GW-20', 'x_forwarded_for', '192.0.2.1'],
  ['GW-21', 'X-Original-URL', '/admin'],
  ['GW-21', 'X-Rewrite-URL', '/admin'],
  ['GW-21', 'X-Forwarded-Uri', '/admin'],
  ['GW-21', 'X-Forwarded-Method', 'DELETE'],
  ['GW-21', 'X-HTTP-Method', 'DELETE'],
  ['GW-21', 'X-HTTP-Method-Override', 'DELETE'],
  ['GW-21', 'X-Method-Override', 'DELETE'],
] as const;

/**
 * Names that CGI, WSGI or PHP read as X-Auth-Subject: every character that a name may contain
 * (RFC 9110 §5.6.2), except letters, digits and the dash.
 */
export const aliasesOfSubject = Array.from("!#$%&'*+.^_`|~", (character) =>
  'X-Auth-Subject'.replaceAll('-', character),
);
