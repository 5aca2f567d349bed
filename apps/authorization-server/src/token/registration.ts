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
  type AuditedChange,
  type Client,
  generateSecureKey,
  type Identity,
  nextNotBefore,
  type Registration,
} from '@gatehouse/identity';
import express, { type ErrorRequestHandler, type Request, type Response } from 'express';
import { reasonsOfCodes } from '../outcomes/reasons.ts';
import { requestOrigin } from '../requests/caller.ts';
import { REGISTRATION_PATH } from '../requests/routes.ts';
import {
  describe,
  type Metadata,
  RegistrationError,
  readMetadata,
  registrationErrorOf,
} from './registration-metadata.ts';
import { replyHeaders, writeTransportError } from './replies.ts';

/** RFC 6750 §3.1. The same reply for every reason, so that it reveals no client. */
const rejectToken = () =>
  new RegistrationError('The token is unknown, expired or used up.', 'invalid_token', 401);

/** @param issuer the addresses in replies begin with it */
export function createRegistration(identity: Identity, issuer: string): express.Router {
  const { clients, registrationTokens, revocations, audit } = identity;
  const record = (
    request: Request,
    clientId: string,
    change: 'added' | 'changed' | 'disabled',
    changes?: readonly AuditedChange[],
  ) => audit.record({ event: 'client_changed', clientId, change, changes }, requestOrigin(request));

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
    record(request, clientId, 'added');
    send(response.status(201), issuer, client, managementToken, secureKey);
  }

  async function change(request: Request, response: Response): Promise<void> {
    await managed(request, identity);
    const metadata = await readMetadata(request);
    const before = await managed(request, identity);
    const { clientId } = before;
    const client = await clients.change(clientId, (current) =>
      // An operator may have changed the client since it was read.
      describeChange(metadata, current, assertManaged(request, current, identity), identity),
    );
    record(request, clientId, 'changed', identity.auditedChanges.ofClient(before, client));
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
    await clients.update(clientId, (client) => ({ ...client, enabled: false, notBefore }));
    await revocations.deleteTokens(clientId);
    record(request, clientId, 'disabled');
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
  const failure = registrationErrorOf(thrown);
  if (failure === undefined) {
    next(thrown);
    return;
  }
  const { status, error, message: description } = failure;
  const headers = { 'WWW-Authenticate': `Bearer error="${error}"` };
  await writeTransportError(request, response, {
    ...{ status, error, reason: reasonsOfCodes[error] ?? 'invalid_request', description },
    ...(status === 401 && { headers }),
  });
};

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
