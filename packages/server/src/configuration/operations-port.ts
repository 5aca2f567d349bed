const OPERATIONS_PORT_OFFSET = 100;
const HIGHEST_PORT = 65_535;

/** The operations port that an app uses by default. Port 0 selects any free port for both. */
export function operationsPortOf(appPort: number): number {
  return appPort === 0 ? 0 : appPort + OPERATIONS_PORT_OFFSET;
}

/**
 * For `refine` of a schema: the operations port that follows from a variable must be a port number.
 *
 * @param override the variable that replaces the default
 */
export function operationsPortRule(
  variable: string,
  override = 'OPERATIONS_PORT',
): [
  isValid: (read: Readonly<Record<string, unknown>>) => boolean,
  problem: { path: string[]; message: string; when: () => boolean },
] {
  const isValid = (read: Readonly<Record<string, unknown>>) => {
    const appPort = read[variable];
    return (
      read[override] !== undefined ||
      typeof appPort !== 'number' ||
      operationsPortOf(appPort) <= HIGHEST_PORT
    );
  };
  const message = `must be set, because ${variable} + ${OPERATIONS_PORT_OFFSET} is no port`;
  return [isValid, { path: [override], message, when: () => true }];
}
