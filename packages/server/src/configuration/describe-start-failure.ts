import { ConfigurationError } from './configuration-error.ts';

/** The text that an app prints if it cannot start. Each configuration problem is on one line. */
export function describeStartFailure(app: string, error: unknown): string {
  if (error instanceof ConfigurationError) {
    const lines = error.problems.map(({ name, message }) => `  ${name}: ${message}`);
    return [`${app} did not start, because of its configuration:`, ...lines].join('\n');
  }
  const { message, cause } = error instanceof Error ? error : new Error('unknown reason');
  const reason = cause instanceof Error ? `${message} (${cause.message})` : message;
  return `${app} did not start: ${reason}`;
}
