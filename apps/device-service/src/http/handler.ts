import type { IncomingMessage } from 'node:http';
import {
  DEFAULT_BODY_LIMIT_BYTES,
  type Labels,
  type Language,
  type OperationName,
} from '@gatehouse/device-api';
import { ApiError, illegalArgument } from '@gatehouse/errors';
import { hasBody, readStrictJson } from '@gatehouse/server';
import accepts from 'accepts';
import type { OrganizationDatabase } from '../database/organization-database.ts';

export type PathParameters = Readonly<Record<'deviceId' | 'productId' | 'tagId', string>>;

/** What a handler needs of a request. */
export interface ApiRequest {
  readonly message: IncomingMessage;
  /** The decoded path segments, by the name of their parameter. A device can have the `deviceId`. */
  readonly path: PathParameters;
  /** Of the organization of the caller. */
  readonly database: OrganizationDatabase;
  /** When the service received the request, in epoch milliseconds. */
  readonly now: number;
}

/** The reply contains the result in an envelope. */
export interface Reply {
  readonly result?: unknown;
  /** The result as JSON. */
  readonly json?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Handler = (request: ApiRequest) => Promise<Reply>;

/** The compiler reports an operation without a handler. */
export type Handlers = Readonly<Record<OperationName, Handler>>;

/** The parameters of a GET, or the body of a POST. A POST without a body queries everything. */
export async function readQuery({ message }: ApiRequest): Promise<unknown> {
  if (message.method !== 'POST') {
    return queryOf(message);
  }
  return hasBody(message) ? readJsonBody(message) : {};
}

/** The raw query with repeated parameters. */
export function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
}

/**
 * Rejects a body, and the parameters of a DELETE. Ignoring them would accept a signature that was
 * created for another request.
 */
export function assertNoInput(message: IncomingMessage): void {
  const parameters = message.method === 'DELETE' ? new Set(queryOf(message).keys()) : [];
  const problems = [...parameters].map((property) => ({
    property,
    message: 'is not a parameter of this operation',
  }));
  if (hasBody(message)) {
    problems.unshift({ property: 'body', message: 'is not accepted by this operation' });
  }
  if (problems.length > 0) {
    throw illegalArgument(problems, 'input_not_accepted');
  }
}

/** The language that the caller prefers. */
export function languageOf({ message }: ApiRequest): Language {
  const prefersChinese =
    message.headers['accept-language'] !== undefined &&
    accepts(message).language('en', 'zh') === 'zh';
  return prefersChinese ? 'zh' : 'en';
}

/** How replies show an enumerated value. */
export function labelerOf(request: ApiRequest) {
  const language = languageOf(request);
  return <Value extends string>(labels: Labels<Value>, stored: string) => {
    const value = stored as Value;
    return { text: labels[value][language], value };
  };
}

const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?;?$/i;

/** @throws ApiError `unsupported_media_type`, `payload_too_large`, `illegal_argument` */
export async function readJsonBody(
  request: IncomingMessage,
  limitBytes = DEFAULT_BODY_LIMIT_BYTES,
): Promise<unknown> {
  if (!JSON_MEDIA_TYPE.test(request.headers['content-type'] ?? '')) {
    throw new ApiError('unsupported_media_type', {
      message: 'The body must have Content-Type: application/json.',
    });
  }
  return readStrictJson(request, limitBytes);
}
