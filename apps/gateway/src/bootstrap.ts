import { setTimeout as sleep } from 'node:timers/promises';
import {
  applyBootstrap,
  assertMasterKeyFits,
  type BootstrapDefinition,
  type Identity,
} from '@gatehouse/identity';
import { StoreUnavailable } from '@gatehouse/store';

const RETRY_MILLISECONDS = 250;

export interface Bootstrap {
  /** Rejects until the definition is applied: a readiness check. */
  ready(): Promise<void>;
  close(): void;
}

/**
 * Makes sure that the store is sealed with our master key, and applies the bootstrap definition, where there is
 * one. Tries again while the store is away: the gateway listens meanwhile and answers 503.
 *
 * @throws ConfigurationError when the key or the definition does not fit the store
 */
export async function startBootstrap(
  definition: BootstrapDefinition | undefined,
  identity: Identity,
): Promise<Bootstrap> {
  let applied = false;
  let closed = false;

  async function attempt(): Promise<void> {
    try {
      await assertMasterKeyFits(identity);
      if (definition !== undefined) {
        await applyBootstrap(definition, identity);
      }
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
        throw new Error('The bootstrap definition is not applied yet.');
      }
    },
    close() {
      closed = true;
    },
  };
}
