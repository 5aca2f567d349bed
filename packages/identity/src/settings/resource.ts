import { deviceScopes } from '@gatehouse/device-api';
import { isLoopbackUrl } from '@gatehouse/server/configuration';
import { z } from 'zod';
import { role, text } from '../records/record.ts';
import { resourceLifetimes } from './lifetimes.ts';

/** The scopes of OpenID Connect. A client_credentials token never has one. */
export const identityScopes = ['openid', 'profile', 'email', 'groups', 'offline_access'] as const;

/** The scopes that no resource declares: those of the device API and of OpenID Connect. */
export const knownScopes = [...deviceScopes, ...identityScopes] as const;

export type Scope = (typeof knownScopes)[number];

export const isKnownScope = (scope: string): scope is Scope =>
  (knownScopes as readonly string[]).includes(scope);

/** Languages of the consent page, as keys of a description. `zh` is every Chinese. */
const languages = ['en', 'zh', 'zh-CN', 'zh-TW', 'ja', 'ko', 'de', 'fr', 'es', 'pt'] as const;

/** RFC 6749 §3.3. */
export const scopeName = z
  .string()
  .regex(/^[\x21\x23-\x5B\x5D-\x7E]{1,100}$/, 'must be printable ASCII without spaces, " and \\');

/** The gateway serves the metadata (RFC 9728) of resources with at most so many, without escapes. */
export const MAXIMUM_PATH_SEGMENTS = 4;

/** RFC 8707 §2: an absolute URI without a fragment. */
export const resourceIdentifier = z
  .string()
  .max(500)
  .refine(
    (value) =>
      URL.canParse(value) &&
      canonicalResource(value) === value &&
      (value.startsWith('https:') || isLoopbackUrl(value)) &&
      !/[#?@]|\/$/.test(value),
    {
      error: 'must be an https address in normal form, without query, fragment and trailing slash',
      abort: true,
    },
  )
  .refine((value) => {
    const [, , , ...segments] = value.split('/');
    const isPlain = segments.every((segment) => /^[\w.~!*'()-]+$/.test(segment));
    return isPlain && segments.length <= MAXIMUM_PATH_SEGMENTS;
  }, `must have at most ${MAXIMUM_PATH_SEGMENTS} segments in its path, of letters, digits and -._~!*'()`);

const description = z.union([
  text(200),
  z
    .partialRecord(z.enum(languages), text(200))
    .refine((texts) => Object.keys(texts).length > 0, 'must have a text'),
]);

/** An API of the operator, as a bootstrap file declares it. */
export const resourceSchema = z.strictObject({
  resource: resourceIdentifier,
  /** For the consent page. */
  name: text(200),
  /** `opaque` if absent. With `jwt`, services that are not behind the gateway can verify access tokens (RFC 9068). */
  tokenFormat: z.enum(['opaque', 'jwt']).optional(),
  scopes: z.record(
    scopeName.refine((name) => !isKnownScope(name), 'is a built-in scope'),
    z.strictObject({
      /** What the scope lets an application do. One text, or one for each language. */
      description,
      /** Only users with one of these roles get the scope. Empty: all users. */
      roles: z.array(role).max(50).default([]),
    }),
  ),
  lifetimes: resourceLifetimes.optional(),
});

export type Resource = Readonly<z.output<typeof resourceSchema>>;

/**
 * The identifier as it is declared and stored. Clients add a slash to an address without a path,
 * because URL parsers do.
 *
 * @returns the text itself if it is not a URL
 */
export function canonicalResource(identifier: string): string {
  const url = URL.parse(identifier);
  const isRoot = url?.pathname === '/' && url.search === '';
  return url === null ? identifier : isRoot ? url.href.replace(/\/$/, '') : url.href;
}

/** Whether the scope belongs to the device API, the built-in resource. */
export const isDeviceScope = (scope: string): scope is (typeof deviceScopes)[number] =>
  (deviceScopes as readonly string[]).includes(scope);

/** The description in a language of the pages, otherwise in the first language that it has. */
export function describeScope(
  { description: texts }: Resource['scopes'][string],
  language: string,
): string | undefined {
  if (typeof texts === 'string') {
    return texts;
  }
  const [general = ''] = language.split('-');
  const find = (name: string) => Object.entries(texts).find(([key]) => key === name)?.[1];
  return find(language) ?? find(general) ?? Object.values(texts)[0];
}
