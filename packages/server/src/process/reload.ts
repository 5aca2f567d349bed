import { ConfigurationError } from '../configuration/configuration-error.ts';
import type { Logger } from '../telemetry/logger.ts';

/** What a process has in effect. Without values, so that operators may see it. */
export interface LoadedConfiguration {
  /** When it was loaded, in epoch milliseconds. */
  readonly loadedAt: number;
  /** Why the last attempt to load it again changed nothing. Empty if it succeeded. */
  readonly problems: readonly string[];
}

const MAXIMUM_PROBLEMS = 5;
const MAXIMUM_CHARACTERS = 300;

/**
 * Loads the configuration of an app again, when the process gets SIGHUP or an operator asks for it.
 * Requests that arrive together cause one reload after the other.
 *
 * @param load throws ConfigurationError for settings that cannot be used, and then changes nothing
 */
export function createReload(load: () => Promise<void>, logger: Logger) {
  let configuration: LoadedConfiguration = { loadedAt: Date.now(), problems: [] };
  let last = Promise.resolve();

  async function attempt(): Promise<void> {
    try {
      await load();
      configuration = { loadedAt: Date.now(), problems: [] };
      logger.info('reloaded');
    } catch (error) {
      const problems = error instanceof ConfigurationError ? error.problems : undefined;
      logger.error({ problems, ...(problems === undefined && { err: error }) }, 'not reloaded');
      const found = problems?.map(({ name, message }) => `${name}: ${message}`);
      const texts = found ?? ['unexpected error. The log of this process has the cause.'];
      const shown = texts.slice(0, MAXIMUM_PROBLEMS);
      const { loadedAt } = configuration;
      configuration = {
        loadedAt,
        problems: shown.map((each) => each.slice(0, MAXIMUM_CHARACTERS)),
      };
    }
  }

  return {
    /** Resolves after the attempt. Never rejects. */
    reload(): Promise<void> {
      last = last.then(attempt);
      return last;
    },
    configuration: (): LoadedConfiguration => configuration,
  };
}
