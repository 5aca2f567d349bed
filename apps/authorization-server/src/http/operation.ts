import { observedRequest } from '@gatehouse/http-server';
import type { RequestHandler } from 'express';
import type { OperationName } from './operation-names.ts';

/** The request's name in log and metrics. */
export function operation(name: OperationName): RequestHandler {
  return (request, _response, next) => {
    observedRequest(request).notes.operation = name;
    next();
  };
}
