import { routes } from '@gatehouse/device-api';
import { createOpenApiDocument } from '@gatehouse/device-api/openapi';
import { errorCatalogue } from '@gatehouse/errors';
import { createReplyValidator, type SeenReply } from '@gatehouse/testing/open-api';

const assertFitsDocument = createReplyValidator(
  createOpenApiDocument({
    publicUrl: 'http://gateway.example',
    authorizationServerUrl: 'http://login.example',
    routes: routes.map(({ method, path, operation: { name: operation, scope } }) => ({
      operation,
      method,
      path,
      scope,
      credentials: ['bearer'],
    })),
    documents: [],
    errors: errorCatalogue,
  }),
);

/**
 * Fails if the OpenAPI document does not describe a reply, or if a request that succeeded does not
 * match the schema of its operation.
 */
export function assertFitsDeviceApi(reply: SeenReply, sent: unknown): void {
  assertFitsDocument(reply);
  const [path = ''] = reply.target.split('?');
  const operation = routes.find(
    (route) => route.method === reply.method && matches(route.path, path),
  )?.operation;
  if (reply.status === 200 && reply.method !== 'GET' && operation?.request !== undefined) {
    operation.request.parse(typeof sent === 'string' ? JSON.parse(sent) : sent);
  }
}

function matches(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
}
