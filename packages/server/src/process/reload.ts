import { ConfigurationError } from '../configuration/configuration-error.ts';
import type { Logger } from '../telemetry/logger.ts';

const MAXIMUM_PROBLEMS = 5;
const MAXIMUM_CHARACTERS = 300;
const UNEXPECTED = 'Unexpected error. The log of this process has the cause.';

/**
 * Loads the configuration of an app again, when the process gets SIGHUP or an operator asks for it.
 * Reloads that are wanted at the same time run one after the other.
 *
 * @param load throws ConfigurationError for settings that cannot be used, and then changes nothing
 */
export function createReload(load: () => Promise<void>, logger: Logger) {
  let configuration = { loadedAt: Date.now(), problems: [] as readonly string[] };
  let last = Promise.resolve();

  async function attempt(): Promise<void> {
    try {
      await load();
      configuration = { loadedAt: Date.now(), problems: [] };
      logger.info('reloaded');
    } catch (error) {
      const problems = error instanceof ConfigurationError ? error.problems : undefined;
      logger.error({ problems, ...(problems === undefined && { err: error }) }, 'not reloaded');
      const texts = problems?.map(({ name, message }) => `${name}: ${message}`) ?? [UNEXPECTED];
      const shown = texts
        .slice(0, MAXIMUM_PROBLEMS)
        .map((each) => each.slice(0, MAXIMUM_CHARACTERS));
      configuration = { ...configuration, problems: shown };
    }
  }

  return {
    /** Resolves after the attempt. Never rejects. */
    reload(): Promise<void> {
      last = last.then(attempt);
      return last;
    },
    /**
     * When the configuration in effect was loaded, in epoch milliseconds, and the problems for which
     * the last attempt to load it again changed nothing, without values.
     */
    configuration: () => configuration,
  };
}
