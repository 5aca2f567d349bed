import type { Request } from 'express';
import type { LabelLanguage } from '../labels/label.ts';

/** The query as it came, repeated parameters included; Express's own parsers guess. */
export function queryOf(request: Request): URLSearchParams {
  return new URLSearchParams(request.url.split('?').slice(1).join('?'));
}

export function languageOf(request: Request): LabelLanguage {
  return request.acceptsLanguages('en', 'zh') === 'zh' ? 'zh' : 'en';
}

/** A segment of the path, decoded once by the router. */
export function pathPart(request: Request, name: string): string {
  return String(request.params[name]);
}
