import { type IdResult, type IdsResult, idsRequest } from '@gatehouse/device-api';
import { ApiError, type IllegalArgument } from '@gatehouse/errors';
import { DatabaseUnavailableError } from '../database/database-unavailable-error.ts';
import { parsePayload } from '../input/parse-payload.ts';

/**
 * Changes each of the devices whose ids are in the body, and reports those that it cannot change.
 * If the database fails after a change, the caller must still learn what changed, so the other
 * devices are reported as unavailable.
 *
 * @throws ApiError `illegal_argument` if the body is not a list of ids
 */
export async function changeEachDevice(
  body: unknown,
  change: (id: string) => Promise<unknown>,
): Promise<IdsResult> {
  const items: IdResult[] = [];
  let isAvailable = true;
  for (const [index, id] of parsePayload(idsRequest, body).entries()) {
    try {
      items.push({ index, id, ...(isAvailable ? await outcomeOf(() => change(id)) : unavailable) });
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError && items.length > 0)) {
        throw error;
      }
      isAvailable = false;
      items.push({ index, id, ...unavailable });
    }
  }
  const succeeded = items.filter(({ status }) => status === 200).length;
  return { total: items.length, succeeded, failed: items.length - succeeded, items };
}

type Outcome = Pick<IdResult, 'status' | 'code' | 'problems'>;

const unavailable: Outcome = { status: 503, code: 'service_unavailable' };

async function outcomeOf(change: () => Promise<unknown>): Promise<Outcome> {
  try {
    await change();
    return { status: 200, code: 'success' };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') {
      return { status: 404, code: 'not_found' };
    }
    if (error instanceof ApiError && error.code === 'illegal_argument') {
      const problems = error.result as readonly IllegalArgument[];
      return { status: 400, code: 'illegal_argument', problems };
    }
    throw error;
  }
}
