import { observedRequest } from '@gatehouse/server';
import type { RequestHandler } from 'express';
import type { OperationName } from './operation-names.ts';

/** Sets the request's name in the log and in metrics. */
export function operation(name: OperationName): RequestHandler {
  return (request, _response, next) => {
    observedRequest(request).notes.operation = name;
    next();
  };
}
