/**
 * The files that operators download: the request log and the audit trail as JSON lines, with the
 * filters of their screens, and what support needs to know. `gatehouse audit verify` checks the lines
 * of the audit trail: entries of a filter are a chain of their own.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { auditSeverities } from '@gatehouse/identity';
import { type AuditQuery, auditFilter, type Operators } from '@gatehouse/operators';
import { observedRequest } from '@gatehouse/server';
import type { Express, Request } from 'express';
import { z } from 'zod';
import { EXPORT_PATH, localTime, requestQuery } from '../view/addresses.ts';
import { FrameError } from './errors.ts';
import { noteOperation } from './send-page.ts';
import type { SignIn } from './sign-in.ts';

export const AUDIT_EXPORT_PATH = '/audit/export';
export const SUPPORT_BUNDLE_PATH = '/settings/support-bundle';

/** The names in log and metrics. */
export const exportOperations = [AUDIT_EXPORT_PATH, EXPORT_PATH, SUPPORT_BUNDLE_PATH] as const;

const auditTime = localTime.transform((at) => new Date(at).toISOString()).optional();

/** The filters in the URL. */
export const auditQuery = auditFilter
  .omit({ cursor: true, limit: true, severities: true })
  .extend({ severity: z.enum(auditSeverities).optional(), since: auditTime, until: auditTime })
  .strip();

export function toAuditQuery({ severity, ...filter }: z.output<typeof auditQuery>): AuditQuery {
  return { ...filter, severities: severity && [severity] };
}

export function addExports(
  app: Express,
  { operators, signIn }: { readonly operators: Operators; readonly signIn: SignIn },
): void {
  const add = (
    path: string,
    name: string,
    read: (request: Request) => Promise<Iterable<string>>,
  ) => {
    const send = signIn.withSession(async ({ request, response }) => {
      const lines = await read(request);
      response.writeHead(200, {
        'Content-Type': `application/${name.split('.').at(-1)}; charset=utf-8`,
        'Content-Disposition': `attachment; filename="${name}"`,
      });
      await pipeline(Readable.from(lines), response).catch((err: unknown) => {
        // The reply ends early. A browser that leaves is no failure.
        if (Object(err).code !== 'ERR_STREAM_PREMATURE_CLOSE') {
          observedRequest(request).notes.err = err;
        }
      });
    });
    app.get(path, noteOperation(path), send);
  };
  add(AUDIT_EXPORT_PATH, 'audit.jsonl', async (request) =>
    operators.audit.export(toAuditQuery(filtersOf(request, auditQuery))),
  );
  add(EXPORT_PATH, 'requests.jsonl', async (request) => {
    const entries = await operators.requests.export(filtersOf(request, requestQuery));
    return entries.map((entry) => `${JSON.stringify(entry)}\n`);
  });
  add(SUPPORT_BUNDLE_PATH, 'support-bundle.json', async () => [
    JSON.stringify(await operators.installation.supportBundle(), undefined, 2),
  ]);
}

/**
 * A screen ignores a filter that it does not know. A file must not have more than its address asks for.
 *
 * @throws FrameError `bad`
 */
export function filtersOf<Schema extends z.ZodType>(
  { query }: Request,
  schema: Schema,
): z.output<Schema> {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const { data, error } = schema.safeParse(Object.fromEntries(given));
  if (error !== undefined) {
    throw new FrameError('bad');
  }
  return data;
}
