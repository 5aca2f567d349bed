import { type Request, type RequestHandler, urlencoded } from 'express';

/** Reads the body of a page's form: a few short fields. */
export const parseForm: RequestHandler = urlencoded({
  extended: false,
  limit: '16kb',
  parameterLimit: 20,
});

/** A field of the form; empty when the field is missing or repeated. */
export function formField(request: Request, name: string): string {
  const body: unknown = request.body;
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, name)) {
    return '';
  }
  const value: unknown = Reflect.get(body, name);
  return typeof value === 'string' ? value : '';
}
