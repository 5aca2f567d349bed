/**
 * The metadata of a client that registers itself (RFC 7591 §2), and what of it the operator's token
 * allows.
 */
import {
  type Client,
  clientSchema,
  generateSecureKey,
  type Registration,
  RejectedChangeError,
} from '@gatehouse/identity';
import { parseStrictJson, StrictJsonError } from '@gatehouse/server';
import { readableIssue } from '@gatehouse/server/configuration';
import type { Request } from 'express';
import { z } from 'zod';
import { peekBody } from './transport.ts';

const MAXIMUM_BODY_BYTES = 16 * 1024;
/** Every one of them needs the consent of a user. */
const allowedGrants: ReadonlySet<string> = new Set([
  ...['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
]);

/** RFC 7591 §2. Other members are ignored. */
const metadataSchema = z.object({
  client_id: z.string().optional(),
  client_secret: z.string().optional(),
  client_name: z.string().optional(),
  redirect_uris: z.array(z.string()).max(20).default([]),
  grant_types: z.array(z.string()).default(['authorization_code']),
  token_endpoint_auth_method: z
    .enum(['none', 'client_secret_basic', 'client_secret_post'])
    .default('client_secret_basic'),
  application_type: z.enum(['web', 'native']).default('web'),
  scope: z.string().optional(),
});

export type Metadata = z.output<typeof metadataSchema>;

export class RegistrationError extends Error {
  readonly status: number;
  readonly error: string;

  constructor(message: string, error = 'invalid_client_metadata', status = 400) {
    super(message);
    this.status = status;
    this.error = error;
  }
}

/** @throws RegistrationError, StrictJsonError, ZodError */
export async function readMetadata(request: Request): Promise<Metadata> {
  if (request.is('application/json') === false) {
    throw new RegistrationError('The body must have the type application/json.');
  }
  const body = await peekBody(request, MAXIMUM_BODY_BYTES);
  if (body === undefined) {
    throw new RegistrationError(`The body must not be longer than ${MAXIMUM_BODY_BYTES} bytes.`);
  }
  return metadataSchema.parse(parseStrictJson(body.toString()), { error: readableIssue });
}

/** The failure of a registration, or undefined for an error that is none. RFC 7591 §3.2.2. */
export function registrationErrorOf(error: unknown): RegistrationError | undefined {
  if (error instanceof StrictJsonError) {
    return new RegistrationError(`The body ${error.message}.`);
  }
  if (error instanceof z.ZodError) {
    const [{ path, message } = { path: [], message: 'is not valid' }] = error.issues;
    const isRedirect = /^redirect(?:Uris|_uris)$/.test(String(path[0]));
    const code = isRedirect ? 'invalid_redirect_uri' : undefined;
    return new RegistrationError(`${path.join('.')}: ${message}.`, code);
  }
  if (error instanceof RejectedChangeError) {
    // An operator removed a scope after the token was issued.
    return new RegistrationError(error.message);
  }
  return error instanceof RegistrationError ? error : undefined;
}

/** @throws RegistrationError, ZodError for metadata that is not allowed or not valid */
export function describe(
  metadata: Metadata,
  allowed: Pick<Client, 'clientId' | 'orgId' | 'scopes'> & Pick<Registration, 'redirectHosts'>,
) {
  const { clientId, orgId, redirectHosts } = allowed;
  const { redirect_uris: redirectUris, client_name: name = clientId } = metadata;
  const isForeign = redirectUris.some((uri) => {
    const { hostname = '', protocol = ':' } = URL.parse(uri) ?? {};
    const isWeb = /^https?:$/.test(protocol);
    return !redirectHosts.includes(isWeb ? hostname : protocol);
  });
  if (isForeign) {
    const message = `The token allows these hosts: ${redirectHosts.join(', ')}.`;
    throw new RegistrationError(message, 'invalid_redirect_uri');
  }
  const isPublic = metadata.token_endpoint_auth_method === 'none';
  const requested = metadata.scope?.split(' ') ?? allowed.scopes;
  const { secureKey: _unused, ...described } = clientSchema.parse(
    {
      ...{ clientId, orgId, name, redirectUris, public: isPublic },
      grantTypes: metadata.grant_types.filter((type) => allowedGrants.has(type)),
      scopes: requested.filter((scope) => allowed.scopes.includes(scope)),
      applicationType: metadata.application_type,
      // The schema requires one. `save` gets another.
      secureKey: isPublic ? undefined : generateSecureKey(),
    },
    { error: readableIssue },
  );
  return described;
}
