/** Declarations over the management API of a console, for commands without the store. */
import { createAdminClient, createTokenFetch, GatehouseError } from '@gatehouse/client/source';
import { OperatorError, type Operators } from '@gatehouse/operators';
import { isLoopbackUrl } from '@gatehouse/server/configuration';
import {
  type CommandInput,
  type OfflineContext,
  text,
  UsageError,
} from '../command-line/command.ts';
import { authorizationServerUrl } from '../open-identity-store.ts';
import { keyOptions, readKey } from './sign.ts';

/** Applying thousands of changes takes longer than other calls. */
const DEADLINE_MILLISECONDS = 5 * 60 * 1000;

export const apiOptions = {
  'api <url>': 'Use the management API at this CONSOLE_URL instead of the store.',
  'client <id>':
    'With --api: a client for client_credentials with the scope operator:write. To read, operator:read is enough.',
  'key-file <path>': `With --api: ${keyOptions['key-file <path>']}`,
};

/** @throws UsageError */
export async function openManagementApi(
  input: CommandInput,
  context: OfflineContext,
): Promise<Operators['declarations']> {
  const { api, client } = input.options;
  const [gateway = '', clientId = ''] = [text(api), text(client)];
  if (!URL.canParse(gateway) || !(gateway.startsWith('https:') || isLoopbackUrl(gateway))) {
    throw new UsageError('--api must be an https address, or an http address of this machine.');
  }
  if (clientId === '') {
    throw new UsageError('Name the client that may use the management API: --client ID.');
  }
  const { secureKey: clientSecret } = await readKey(input, context, []);
  const tokenEndpoint = `${authorizationServerUrl(context.environment)}/token`;
  const options = { gateway, tokenEndpoint, clientId, clientSecret };
  const { declarations } = createAdminClient(
    createTokenFetch({ ...options, deadlineMilliseconds: DEADLINE_MILLISECONDS }),
  );
  return {
    plan: (declared, more) => declarations.plan({ ...declared, ...more }).catch(fail),
    /** The operator is the client. */
    async apply(_operator, declared, more, condition) {
      const applied = declarations.apply({ ...declared, ...more }, condition);
      return applied.catch((error) => {
        const { done, secureKeys, notDone } = Object(error.problem);
        return notDone ? { done, secureKeys, notDone, failure: clearError(error) } : fail(error);
      });
    },
    export: () => declarations.export().catch(fail) as Promise<unknown> as ReturnType<Exported>,
  };
}

type Exported = Operators['declarations']['export'];

function fail(error: unknown): never {
  throw clearError(error);
}

/** As the command over the store reports it. */
function clearError(cause: unknown): unknown {
  if (!(cause instanceof GatehouseError)) {
    return cause;
  }
  const { code, message, problem, status = 0, requestId } = cause;
  if (code === 'illegal_argument' && Array.isArray(problem?.errors)) {
    return new OperatorError('illegal_argument', message, problem.errors);
  }
  if (code === 'invalid_client') {
    const advice = 'Check --client, --key-file and AUTHORIZATION_SERVER_URL.';
    return new Error(`The authorization server rejected the client. ${advice}`, { cause });
  }
  return status < 500 ? cause : new Error(`${message} Request id: ${requestId}.`, { cause });
}
