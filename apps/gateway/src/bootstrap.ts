import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigurationError } from '@gatehouse/configuration';
import {
  applyBootstrap,
  assertMasterKeyFits,
  type BootstrapDefinition,
  demoProblems,
  type Identity,
} from '@gatehouse/identity';
import { StoreUnavailable } from '@gatehouse/store';

const RETRY_MILLISECONDS = 250;

export interface Bootstrap {
  /** Rejects until the store is as it is to be: a readiness check. */
  ready(): Promise<void>;
  close(): void;
}

/**
 * Makes sure that the store is sealed with our master key, applies the bootstrap definition, where there is one, and
 * looks that a public address serves no demo (SL-07). Tries again while the store is away: the gateway listens
 * meanwhile and answers 503.
 *
 * @throws ConfigurationError when the key or the definition does not fit the store, or the store not the address. What
 *   is found out at a later attempt is an unhandled rejection, which ends the process
 */
export async function startBootstrap(
  definition: BootstrapDefinition | undefined,
  identity: Identity,
  { allowsDemo }: { readonly allowsDemo: boolean },
): Promise<Bootstrap> {
  let applied = false;
  let closed = false;

  async function prepare(): Promise<void> {
    await assertMasterKeyFits(identity);
    if (definition !== undefined) {
      await applyBootstrap(definition, identity);
    }
    const problems = allowsDemo ? [] : await demoProblems(identity);
    if (problems.length > 0) {
      throw new ConfigurationError(problems);
    }
  }

  async function attempt(): Promise<void> {
    try {
      await prepare();
      applied = true;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) {
        throw error;
      }
    }
  }

  async function keepTrying(): Promise<void> {
    while (!applied && !closed) {
      await sleep(RETRY_MILLISECONDS, undefined, { ref: false });
      await attempt();
    }
  }

  await attempt();
  void keepTrying();
  return {
    async ready() {
      if (!applied) {
        throw new Error('The store was not prepared yet.');
      }
    },
    close() {
      closed = true;
    },
  };
}
