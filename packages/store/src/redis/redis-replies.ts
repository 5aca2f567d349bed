/** Any other reply comes from a broken server or connection. It is an outage, never "not found". */
export function optionalText(reply: unknown): string | undefined {
  return reply === null ? undefined : text(reply);
}

export function texts(reply: unknown): readonly string[] {
  return list(reply).map(text);
}

export function optionalTexts(reply: unknown): readonly (string | undefined)[] {
  return list(reply).map(optionalText);
}

function list(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) {
    throw unexpectedReply();
  }
  return reply;
}

function text(reply: unknown): string {
  if (typeof reply !== 'string') {
    throw unexpectedReply();
  }
  return reply;
}

export function unexpectedReply(): Error {
  return new Error('Redis sent an unexpected reply.');
}
