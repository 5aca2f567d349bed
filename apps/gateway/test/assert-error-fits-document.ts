import { createOpenApiDocument } from '@gatehouse/device-api/openapi';
import { errorCatalogue } from '@gatehouse/errors';
import {
  createReplyValidator,
  type ReplyValidator,
  type SeenReply,
} from '@gatehouse/testing/open-api';
import { describedRoutes } from '../src/routes/public-documents.ts';
import { deviceRoutes } from '../src/routes/route.ts';

let assertFits: ReplyValidator | undefined;

/** Fails if the OpenAPI document does not describe an error of the platform API. */
export function assertErrorFitsDocument(reply: SeenReply): void {
  const { body } = reply;
  if (reply.status < 400 || typeof body !== 'object' || body === null || !('code' in body)) {
    return;
  }
  assertFits ??= createReplyValidator(
    createOpenApiDocument({
      publicUrl: 'http://gateway.example',
      authorizationServerUrl: 'http://login.example',
      routes: describedRoutes(deviceRoutes),
      documents: [],
      errors: errorCatalogue,
    }),
  );
  assertFits(reply);
}
