import { parseStrictJson, StrictJsonError } from '@gatehouse/server';

/** Every other member is ignored (`expires_in`, `sub`, `role`). */
const parameters = [
  'grant_type',
  'client_id',
  'client_secret',
  'code',
  'code_verifier',
  'redirect_uri',
  'refresh_token',
  'scope',
] as const;

interface Problem {
  readonly problem: string;
}

interface Form {
  readonly text: string;
}

/**
 * The form with the content of a JSON body, or the problem with the body. A problem never quotes a
 * value.
 */
export function toForm(body: Buffer): Form | Problem {
  const read = readJson(body);
  if ('problem' in read) {
    return read;
  }
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'The body must be a JSON object.' };
  }
  const members = value as Readonly<Record<string, unknown>>;
  const form = new URLSearchParams();
  for (const name of parameters) {
    const member = Object.hasOwn(members, name) ? members[name] : undefined;
    if (typeof member === 'string') {
      form.set(name, member);
    } else if (member !== undefined && member !== null) {
      return { problem: `${name} must be a string.` };
    }
  }
  return { text: form.toString() };
}

function readJson(body: Buffer): { readonly value: unknown } | Problem {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    return { value: parseStrictJson(text) };
  } catch (error) {
    const what = error instanceof StrictJsonError ? error.message : 'is not UTF-8';
    return { problem: `The body ${what}.` };
  }
}
