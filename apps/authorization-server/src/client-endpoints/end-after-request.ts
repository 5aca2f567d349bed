import type { IncomingMessage, ServerResponse } from 'node:http';
import { lingerBeforeClose } from '@gatehouse/server';

/** Sends a complete failure reply and ends it when the caller has sent the rest of its request. */
export async function endAfterRequest(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
): Promise<void> {
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.write(body);
  await lingerBeforeClose(request);
  response.end();
}
