import { routes } from '@gatehouse/device-api';

/** Fails if a successful call does not match the request and reply schemas of its operation. */
export function assertFitsDeviceApi(
  method: string,
  target: string,
  body: unknown,
  result: unknown,
): void {
  const [path = ''] = target.split('?');
  const operation = routes.find(
    (route) => route.method === method && matches(route.path, path),
  )?.operation;
  if (operation === undefined) {
    throw new Error(`The device API has no route for ${method} ${path}.`);
  }
  const sent = typeof body === 'string' ? JSON.parse(body) : body;
  if (method !== 'GET' && operation.request !== undefined) {
    operation.request.parse(sent);
  }
  if (operation.reply === undefined) {
    if (result !== undefined) {
      throw new Error(`${operation.name} returned a result, but the device API lists none.`);
    }
    return;
  }
  operation.reply.parse(result);
}

function matches(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
}
