import { ApiError, type IllegalArgument } from '@gatehouse/api-envelope';
import { type IdResult, type IdsResult, idsRequest } from '@gatehouse/device-api';
import { parsePayload } from '../input/parse-payload.ts';

/**
 * Changes each of the devices whose ids are in the body, and reports those that it cannot change.
 *
 * @throws ApiError `illegal_argument` if the body is not a list of ids
 */
export async function changeEachDevice(
  body: unknown,
  change: (id: string) => Promise<unknown>,
): Promise<IdsResult> {
  const items: IdResult[] = [];
  for (const [index, id] of parsePayload(idsRequest, body).entries()) {
    items.push({ index, id, ...(await outcomeOf(() => change(id))) });
  }
  const succeeded = items.filter(({ status }) => status === 200).length;
  return { total: items.length, succeeded, failed: items.length - succeeded, items };
}

async function outcomeOf(
  change: () => Promise<unknown>,
): Promise<Pick<IdResult, 'status' | 'code' | 'problems'>> {
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
