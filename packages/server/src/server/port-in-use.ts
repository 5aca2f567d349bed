/**
 * Makes the error of a port in use name the variable that selects another port. Use it in `catch`.
 *
 * @throws Error for a port in use, otherwise the given error
 */
export function explainPortInUse(variable: string): (error: unknown) => never {
  return (error) => {
    const { code, port } = (error ?? {}) as NodeJS.ErrnoException & { readonly port?: number };
    if (code !== 'EADDRINUSE' || port === undefined) {
      throw error;
    }
    throw new Error(
      `port ${port} is in use. Stop the program that uses it, or set ${variable} to a free port.`,
    );
  };
}
