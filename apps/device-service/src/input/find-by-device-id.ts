import { deviceIdPattern } from '@gatehouse/device-api';
import { ApiError } from '@gatehouse/errors';

/**
 * Calls `find` only for ids that a device can have.
 *
 * @throws ApiError `not_found` if the id is impossible, or if `find` resolves to undefined
 */
export async function findByDeviceId<Found>(
  id: string,
  find: (id: string) => Promise<Found | undefined>,
): Promise<Found> {
  const found = deviceIdPattern.test(id) ? await find(id) : undefined;
  if (found === undefined) {
    throw new ApiError('not_found');
  }
  return found;
}
