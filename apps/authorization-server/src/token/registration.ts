/**
 * Dynamic client registration (RFC 7591) with an initial access token of an operator, and the
 * management of such a client with the token that it got (RFC 7592).
 *
 *   POST /register        ─▶ token valid ─▶ metadata within what it allows ─▶ one claim ─▶ registry
 *   GET, PUT, DELETE /register/{client_id}
 *
 * The library's endpoints are not used: they keep secrets in clear text, reject the scopes of
 * declared resources, and do not count the uses of a token.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import {
  type Client,
  clientDefinition,
  generateSecureKey,
  type Identity,
  type NewClient,
  nextNotBefore,
  type Registration,
  RejectedChangeError,
} from '@gatehouse/identity';
import { parseStrictJson, StrictJsonError } from '@gatehouse/server';
import { readableIssue } from '@gatehouse/server/configuration';
import express, { type ErrorRequestHandler, type Request, type Response } from 'express';
import { z } from 'zod';
import { reasonsOfCodes } from '../outcomes/reasons.ts';
import { recordEvent } from '../requests/caller.ts';
import { REGISTRATION_PATH } from '../requests/routes.ts';
import { replyHeaders, writeTransportError } from './replies.ts';
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

type Metadata = z.output<typeof metadataSchema>;

/** RFC 7591 §3.2.2. */
class RegistrationError extends Error {
  readonly error: string;

  constructor(message: string, error = 'invalid_client_metadata') {
    super(message);
    this.error = error;
  }
}

/** RFC 6750 §3.1. The same reply for every reason, so that it reveals no client. */
const rejectToken = () =>
  new RegistrationError('The token is unknown, expired or used up.', 'invalid_token');

/** @param issuer the addresses in replies begin with it */
export function createRegistration(identity: Identity, issuer: string): express.Router {
  const { clients, registrationTokens, revocations } = identity;

  async function changeClient(
    request: Request,
    clientId: string,
    change: (client: Client) => NewClient,
  ): Promise<Client> {
    const { after, events } = await identity.auditedChanges.changeClient(clientId, change);
    for (const event of events) {
      recordEvent(request, event, identity);
    }
    return after;
  }

  async function findAllowed(token: string) {
    const allowed = await registrationTokens.find(token);
    const { issuedAt = 0 } = allowed ?? {};
    if (allowed === undefined || (await identity.findLiveHolder({ issuedAt })) === undefined) {
      throw rejectToken();
    }
    return allowed;
  }

  async function register(request: Request, response: Response): Promise<void> {
    const token = bearerOf(request);
    await findAllowed(token);
    const metadata = await readMetadata(request);
    // Again, because a body can arrive slowly, and the token may be revoked meanwhile.
    const allowed = await findAllowed(token);
    const clientId = `registered-${randomBytes(16).toString('base64url')}`;
    const described = describe(metadata, { ...allowed, clientId });
    if (!(await registrationTokens.take(token, allowed, clientId))) {
      throw rejectToken();
    }
    const managementToken = randomBytes(32).toString('base64url');
    const registration = {
      tokenHash: identity.credentialHash(managementToken),
      issuedAt: Math.floor(Date.now() / 1000),
      redirectHosts: allowed.redirectHosts,
    };
    const secureKey = described.public ? undefined : generateSecureKey();
    const client = await clients.save({ ...described, registration }, secureKey);
    recordEvent(request, { event: 'client_changed', clientId, change: 'added' }, identity);
    send(response.status(201), issuer, client, managementToken, secureKey);
  }

  async function change(request: Request, response: Response): Promise<void> {
    await managed(request, identity);
    const metadata = await readMetadata(request);
    const { clientId } = await managed(request, identity);
    const client = await changeClient(request, clientId, (current) =>
      // An operator may have changed the client since it was read.
      describeChange(metadata, current, assertManaged(request, current, identity), identity),
    );
    send(response, issuer, client, bearerOf(request));
  }

  const router = express.Router({ caseSensitive: true, strict: true });
  router.post('/', register);
  router.all('/', (request, response) =>
    writeTransportError(request, response, {
      ...{ status: 405, reason: 'method_not_allowed', headers: { Allow: 'POST' } },
      description: 'Register a client with POST.',
    }),
  );
  router.get('/:clientId', async (request, response) => {
    send(response, issuer, await managed(request, identity), bearerOf(request));
  });
  router.put('/:clientId', change);
  router.delete('/:clientId', async (request, response) => {
    const { clientId } = await managed(request, identity);
    const notBefore = nextNotBefore(Date.now());
    await changeClient(request, clientId, (client) => ({ ...client, enabled: false, notBefore }));
    await revocations.deleteTokens(clientId);
    response.status(204).set('Cache-Control', 'no-store').end();
  });
  router.use(replyToError);
  return router;
}

/** The client gets no scope and no grant type that it does not have. */
function describeChange(
  metadata: Metadata,
  current: Client,
  { redirectHosts }: Registration,
  { clients }: Identity,
) {
  const { client_id: clientId, client_secret: secret } = metadata;
  const isWrongSecret = secret !== undefined && !clients.verifySecret(current, secret);
  if (clientId !== current.clientId || isWrongSecret) {
    throw new RegistrationError('client_id or client_secret is not that of the client.');
  }
  const described = describe(metadata, { ...current, redirectHosts });
  if (described.public !== current.public) {
    throw new RegistrationError('A client with a secret keeps it, and one without gets none.');
  }
  const { name, redirectUris, scopes, applicationType } = described;
  const grantTypes = described.grantTypes.filter((type) => current.grantTypes.includes(type));
  return { ...current, name, redirectUris, grantTypes, scopes, applicationType };
}

/** @throws RegistrationError unless the request has the token of the client */
async function managed(request: Request, identity: Identity): Promise<Client> {
  const found = await identity.clients.find(String(request.params.clientId));
  const { issuedAt } = assertManaged(request, found, identity);
  const live = await identity.findLiveHolder({ clientId: found?.clientId, issuedAt });
  if (live?.client === undefined) {
    throw rejectToken();
  }
  return live.client;
}

function assertManaged(
  request: Request,
  client: Client | undefined,
  { credentialHash }: Pick<Identity, 'credentialHash'>,
): Registration {
  const { registration, enabled = false, notBefore = 0 } = client ?? {};
  const presented = Buffer.from(credentialHash(bearerOf(request)));
  const expected = Buffer.from(registration?.tokenHash ?? '');
  const isOwner = presented.length === expected.length && timingSafeEqual(presented, expected);
  if (!isOwner || !enabled || registration === undefined || registration.issuedAt <= notBefore) {
    throw rejectToken();
  }
  return registration;
}

/** RFC 6750 §2.1. */
const bearerOf = ({ headers }: Request) =>
  /^bearer +([\w-]+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';

const replyToError: ErrorRequestHandler = async (thrown, request, response, next) => {
  let error = 'invalid_client_metadata';
  let description: string;
  if (thrown instanceof z.ZodError) {
    const [{ path, message } = { path: [], message: 'is not valid' }] = thrown.issues;
    error = /^redirect(?:Uris|_uris)$/.test(String(path[0])) ? 'invalid_redirect_uri' : error;
    description = `${path.join('.')}: ${message}.`;
  } else if (thrown instanceof RegistrationError) {
    ({ error, message: description } = thrown);
  } else if (thrown instanceof StrictJsonError) {
    description = `The body ${thrown.message}.`;
  } else if (thrown instanceof RejectedChangeError) {
    // An operator removed a scope after the token was issued.
    description = thrown.message;
  } else {
    next(thrown);
    return;
  }
  const headers = { 'WWW-Authenticate': `Bearer error="${error}"` };
  await writeTransportError(request, response, {
    ...{ error, reason: reasonsOfCodes[error] ?? 'invalid_request', description },
    ...(error === 'invalid_token' ? { status: 401, headers } : { status: 400 }),
  });
};

/** @throws RegistrationError, StrictJsonError, ZodError */
async function readMetadata(request: Request): Promise<Metadata> {
  if (request.is('application/json') === false) {
    throw new RegistrationError('The body must have the type application/json.');
  }
  const body = await peekBody(request, MAXIMUM_BODY_BYTES);
  if (body === undefined) {
    throw new RegistrationError(`The body must not be longer than ${MAXIMUM_BODY_BYTES} bytes.`);
  }
  return metadataSchema.parse(parseStrictJson(body), { error: readableIssue });
}

/** @throws RegistrationError, ZodError for metadata that is not allowed or not valid */
function describe(
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
  return clientDefinition.parse(
    {
      ...{ clientId, orgId, name, redirectUris, public: isPublic },
      grantTypes: metadata.grant_types.filter((type) => allowedGrants.has(type)),
      scopes: requested.filter((scope) => allowed.scopes.includes(scope)),
      applicationType: metadata.application_type,
    },
    { error: readableIssue },
  );
}

/** RFC 7591 §3.2.1. A secret is shown only when it is new. */
function send(
  response: Response,
  issuer: string,
  client: Client,
  managementToken: string,
  secureKey?: string,
): void {
  const { clientId, grantTypes } = client;
  const body = {
    client_id: clientId,
    ...(secureKey !== undefined && { client_secret: secureKey, client_secret_expires_at: 0 }),
    client_name: client.name,
    redirect_uris: client.redirectUris,
    grant_types: grantTypes,
    response_types: grantTypes.includes('authorization_code') ? ['code'] : [],
    token_endpoint_auth_method: client.public ? 'none' : 'client_secret_basic',
    application_type: client.applicationType,
    scope: client.scopes.join(' '),
    registration_client_uri: `${issuer}${REGISTRATION_PATH}/${clientId}`,
    registration_access_token: managementToken,
  };
  response.set(replyHeaders).end(JSON.stringify(body));
}
