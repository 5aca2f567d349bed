/**
 * Headers with which a caller could claim an origin, an identity or another request at a service:
 * claim, name and value. The gateway and the proxies of deploy/forward-auth must remove all of them.
 */
export const forgedHeaders = [
  ['an origin', 'X-Forwarded-For', '192.0.2.1'],
  ['an origin', 'X-Forwarded-Proto', 'https'],
  ['an origin', 'X-Forwarded-Host', 'evil.example'],
  ['an origin', 'X-Forwarded-Port', '1'],
  ['an origin', 'X-Forwarded-Prefix', '/evil'],
  ['an origin', 'Forwarded', 'for=192.0.2.1'],
  ['an origin', 'X-Real-IP', '192.0.2.1'],
  ['an identity', 'X-User-Id', 'admin'],
  ['an identity', 'X-Auth-Subject', 'admin'],
  ['an identity', 'X-Consumer-Username', 'admin'],
  ['an identity', 'X_User_Id', 'admin'],
  ['an identity', 'X_Auth_Subject', 'admin'],
  ['an identity', 'x_forwarded_for', '192.0.2.1'],
  ['a request', 'X-Original-URL', '/admin'],
  ['a request', 'X-Rewrite-URL', '/admin'],
  ['a request', 'X-Forwarded-Uri', '/admin'],
  ['a request', 'X-Forwarded-Method', 'DELETE'],
  ['a request', 'X-HTTP-Method', 'DELETE'],
  ['a request', 'X-HTTP-Method-Override', 'DELETE'],
  ['a request', 'X-Method-Override', 'DELETE'],
] as const;

/**
 * Names that CGI, WSGI or PHP read as X-Auth-Subject: every character that a name may contain
 * (RFC 9110 §5.6.2), except letters, digits and the dash.
 */
export const aliasesOfSubject = Array.from("!#$%&'*+.^_`|~", (character) =>
  'X-Auth-Subject'.replaceAll('-', character),
);
