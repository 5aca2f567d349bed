/** Sends the requests of examples/http/ in their order, as each editor does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { basic } from '@gatehouse/testing';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { startExampleStack } from './example-stack.ts';

type HttpFile = ReturnType<typeof parse>;
type HttpRequest = HttpFile['requests'][number];

const stack = await startExampleStack();
beforeAll(() => stack.register('editors'));

const read = (name: string) => readFileSync(join(stack.folder, 'http', name), 'utf8');

/** `###` separates requests. Comments and response handlers are not part of a request. */
function parse(text: string) {
  const [head = '', ...blocks] = text.split(/^### /m);
  const variables = [...head.matchAll(/^@(\w+) = (.+)$/gm)];
  return {
    variables: new Map(variables.map(([, name = '', value = '']) => [name, value])),
    requests: blocks.map((block) => {
      const [title = '', ...lines] = block.replace(/^> \{%.*%\}$/m, '').split('\n');
      const [start = '', ...rest] = lines.filter((line) => !line.startsWith('#'));
      const [method = '', url = ''] = start.split(' ');
      const blank = rest.indexOf('');
      const headers = rest.slice(0, blank).map((line) => line.split(/: (.*)/s, 2));
      return {
        ...{ title, method, url, body: rest.slice(blank).join('\n').trim() },
        headers: headers.map(([name = '', value = '']) => [name, value] as const),
      };
    }),
  };
}

/** Replaces `{{name}}`, also in values. An unknown variable is an error, as in the editors. */
function fillIn(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\{\{([^}]+)\}\}/g, (_match, name: string) => {
    const value = variables.get(name);
    if (value === undefined) {
      throw new Error(`There is no variable ${name}.`);
    }
    return fillIn(value, variables);
  });
}

async function send(request: HttpRequest, variables: ReadonlyMap<string, string>) {
  const headers = request.headers.map(([name, value]): [string, string] => {
    const filled = fillIn(value, variables);
    // Both editors encode `Basic USER PASSWORD`.
    const [, user, password] = /^Basic (\S+) (\S+)$/.exec(filled) ?? [];
    return [name, user === undefined ? filled : basic(user, password ?? '')];
  });
  const reply = await fetch(fillIn(request.url, variables), {
    method: request.method,
    headers,
    ...(request.body === '' ? {} : { body: fillIn(request.body, variables) }),
  });
  const text = await reply.text();
  return { status: reply.status, body: text === '' ? {} : JSON.parse(text) };
}

/** The variables of the environment files, or of `.env`, and the token of the named request. */
const editors = [
  {
    name: 'vs-code.http',
    readVariables: (file: HttpFile) => {
      const [, secureKey = ''] = /^SECURE_KEY=(.+)$/m.exec(read('.env')) ?? [];
      return new Map([...file.variables, ['$dotenv SECURE_KEY', secureKey]]);
    },
    tokenVariable: 'token.response.body.access_token',
  },
  {
    name: 'jetbrains.http',
    readVariables: () => {
      const environments = ['http-client.env.json', 'http-client.private.env.json'];
      const all = environments.map((each) => JSON.parse(read(each)).local);
      return new Map(all.flatMap((each) => Object.entries<string>(each)));
    },
    tokenVariable: 'accessToken',
  },
] as const;

describe.each(editors)('$name', ({ name, readVariables, tokenVariable }) => {
  test('has requests that succeed in their order', async () => {
    const file = parse(read(name));
    const variables: Map<string, string> = readVariables(file);
    variables.set('authorizationServer', stack.system.authorizationServerUrl);
    variables.set('gateway', stack.system.gatewayUrl);
    const replies = new Map<string, Record<string, unknown>>();
    for (const request of file.requests) {
      const { status, body } = await send(request, variables);
      expect([request.title, status, body]).toEqual([request.title, 200, body]);
      replies.set(request.title.split('.', 1)[0] ?? '', body);
      if (request.url.endsWith('/token')) {
        variables.set(tokenVariable, body.access_token);
      }
    }
    expect(replies.get('Describe the access token')).toMatchObject({ active: true });
    const found = { id: 'editor-pump', name: 'Editor pump' };
    expect(replies.get('Find devices with a query')).toMatchObject({ result: { data: [found] } });
    expect(replies.get('Read the log')).toMatchObject({ result: [{ content: 'too hot' }] });
  });
});

test('both files contain the same requests', () => {
  const [first, second] = editors.map(({ name }) => parse(read(name)).requests);
  expect(first?.length).toBeGreaterThan(10);
  expect(second).toEqual(first);
});
