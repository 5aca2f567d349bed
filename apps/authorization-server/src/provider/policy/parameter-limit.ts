import { errors } from 'oidc-provider';

/**
 * Stored parameters of one request, as JSON in UTF-8. They fit into cookies, and real clients send
 * far less.
 */
export const MAXIMUM_PARAMETER_BYTES = 4096;

export function parameterBytes(parameters: object | undefined): number {
  return Buffer.byteLength(JSON.stringify(parameters ?? {}));
}

/** @throws InvalidRequest with the length of the parameters and the limit */
export function assertParametersFit(parameters: object | undefined): void {
  const bytes = parameterBytes(parameters);
  if (bytes > MAXIMUM_PARAMETER_BYTES) {
    throw new errors.InvalidRequest(
      `The parameters are ${bytes} bytes long in total. The limit is ${MAXIMUM_PARAMETER_BYTES} bytes.`,
    );
  }
}
