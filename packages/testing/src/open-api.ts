import { Ajv2020 } from 'ajv/dist/2020.js';

/** The part of an OpenAPI document that validation needs. */
export interface DescribedApi {
  /** By path and lower-case method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

/** A reply of the API to a request. */
export interface SeenReply {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly status: number;
  /** The parsed body. */
  readonly body: unknown;
  /** Of the body, by default `application/json`. */
  readonly mediaType?: string | undefined;
}

/** Throws if the document does not describe such a reply. */
export type ReplyValidator = (reply: SeenReply) => void;

const ERROR = '/components/responses/Error';

/**
 * Validates replies with the response that the document describes for their route and status. The
 * reply to a request that matches no route must be an error.
 */
export function createReplyValidator(document: DescribedApi): ReplyValidator {
  const ajv = new Ajv2020({
    // A linter checks the document (test/open-api-linter.slow.test.ts).
    ...{ strict: false, validateSchema: false, validateFormats: false },
    allErrors: true,
  });
  ajv.addSchema(document, 'api');
  return ({ method, target, status, body, mediaType = 'application/json' }) => {
    const [path = ''] = target.split('?');
    const response = findResponse(document, method, path, status);
    const schema = `${response}/content/${mediaType.replaceAll('/', '~1')}/schema`;
    if (!ajv.validate(`api#${schema}`, body)) {
      throw new Error(
        `${method} ${path} replied ${JSON.stringify(body)}, which is not ${response}: ${ajv.errorsText()}`,
      );
    }
  };
}

/** The JSON Pointer of the response in the document. */
function findResponse(
  { paths }: DescribedApi,
  method: string,
  path: string,
  status: number,
): string {
  const found = findRoute(Object.keys(paths), path);
  const responses = Reflect.get(paths[found ?? '']?.[method.toLowerCase()] ?? {}, 'responses');
  if (responses === undefined) {
    if (status < 400) {
      throw new Error(`${method} ${path} succeeded, but the document has no such route.`);
    }
    return ERROR;
  }
  const key = Object.hasOwn(responses, status) ? String(status) : 'default';
  if (key === 'default' && status < 400) {
    throw new Error(`${method} ${path} replied ${status}, which the document does not describe.`);
  }
  const { $ref } = responses[key];
  return $ref === undefined
    ? `/paths/${(found ?? '').replaceAll('/', '~1')}/${method.toLowerCase()}/responses/${key}`
    : $ref.slice(1);
}

/** A path without a parameter takes precedence, as in OpenAPI. */
function findRoute(paths: readonly string[], path: string): string | undefined {
  return (
    paths.find((candidate) => candidate === path) ??
    paths.find((candidate) =>
      new RegExp(`^${candidate.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    )
  );
}
