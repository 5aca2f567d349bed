import type { FailureReasonName } from '@gatehouse/errors';
import type { ProviderMiddleware } from '../provider/library.ts';
import { describeReason } from '../provider/reasons/describe-reason.ts';

export interface Misplaced {
  readonly reason: FailureReasonName;
  readonly description: string;
}

/** Every parameter that a client endpoint can require. */
const required = [
  'grant_type',
  'client_id',
  'code',
  'code_verifier',
  'redirect_uri',
  'refresh_token',
  'device_code',
  'username',
  'password',
  'token',
  'response_type',
] as const;

/**
 * Where a missing parameter was sent instead.
 *
 * @param description the library's description, which lists the missing parameters
 */
export function findMisplaced(
  context: Parameters<ProviderMiddleware>[0],
  description: string,
): Misplaced | undefined {
  const { oidc, query } = context;
  if (hasUntypedBody(context)) {
    return { reason: 'content_type_missing', description: describeReason('content_type_missing') };
  }
  const listed = new Set(description.match(/\w+/g));
  const inBody = Object.keys(oidc?.body ?? {});
  for (const name of required.filter((each) => listed.has(each))) {
    if (query[name] !== undefined) {
      return {
        reason: 'parameter_in_query',
        description: `${name} was sent in the query. Send it in the form body.`,
      };
    }
    if (inBody.some((each) => each !== name && simplified(each) === simplified(name))) {
      return {
        reason: 'parameter_name_misspelled',
        description: `${name} was sent under a similar name. Use exactly the name ${name}.`,
      };
    }
  }
  return undefined;
}

/** The library reads no body without a type. */
function hasUntypedBody({ req: { headers } }: Parameters<ProviderMiddleware>[0]): boolean {
  const { 'content-type': type, 'content-length': length = '0' } = headers;
  return type === undefined && (length !== '0' || headers['transfer-encoding'] !== undefined);
}

function simplified(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}
