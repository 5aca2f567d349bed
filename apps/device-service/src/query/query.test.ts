import type { ApiError } from '@gatehouse/errors';
import { describe, expect, test } from '@jest/globals';
import { deviceSubject } from '../devices/pages.ts';
import { parseQuery } from './query.ts';

function problemsOf(input: unknown): unknown {
  try {
    parseQuery(input, deviceSubject);
  } catch (error) {
    const { code, result } = error as ApiError;
    expect(code).toBe('illegal_argument');
    return result;
  }
  throw new Error('The query was accepted.');
}

describe('an invalid device query', () => {
  test.each([
    [{ where: 'color = red' }, 'where', 'at character 1:'],
    [{ where: 'id = a and (color = red)' }, 'where', 'at character 13:'],
    [{ where: 'id ~ a' }, 'where', 'at character 4:'],
    [{ where: 'id =' }, 'where', 'at character 5:'],
    [{ where: 'state = broken' }, 'where', 'at character 9:'],
    [{ where: 'createTime > yesterday' }, 'where', 'at character 14:'],
    [{ where: '(id = a' }, 'where', 'at character 8:'],
    [{ where: 'id = a)' }, 'where', 'at character 7:'],
    [{ where: 'id = a b' }, 'where', 'at character 8:'],
    [{ where: "id = 'a" }, 'where', 'at character 6:'],
    [{ where: 'id in ()' }, 'where', 'at character 7:'],
    [{ where: 'createTime btw 1' }, 'where', 'at character 16:'],
    [{ where: 'and' }, 'where', 'at character 1:'],
    [{ where: 7 }, 'where', ''],
    [{ where: false }, 'where', ''],
    [{ terms: 0 }, 'terms', ''],
    [{ where: `${'('.repeat(2000)}id = a` }, 'where', 'at character 8:'],
    [{ terms: [{ column: 'constructor', value: 'x' }] }, 'terms[0].column', ''],
    [{ terms: [{ column: '__proto__', value: 'x' }] }, 'terms[0].column', ''],
    [{ terms: [{ column: 'id', termType: 'toString', value: 'x' }] }, 'terms[0].termType', ''],
    [{ terms: [{ column: 'id$sounds', value: 'x' }] }, 'terms[0].column', ''],
    [{ terms: [{ column: 'id$like', termType: 'eq', value: 'x' }] }, 'terms[0].termType', ''],
    [{ terms: [{ column: 'id' }] }, 'terms[0].value', ''],
    [{ terms: [{ column: 'id', value: [] }] }, 'terms[0].value', ''],
    [{ terms: [{ column: 'id', termType: 'in', value: [] }] }, 'terms[0].value', ''],
    [{ terms: [{ column: 'id', value: 'a', type: 'xor' }] }, 'terms[0].type', ''],
    [{ terms: [{ column: 'id', value: 'a', options: ['x'] }] }, 'terms[0].options', ''],
    [{ terms: [{ column: 'state', termType: 'gt', value: 'online' }] }, 'terms[0].termType', ''],
    [{ terms: [{ column: 'createTime', termType: 'like', value: '1' }] }, 'terms[0].termType', ''],
    [{ terms: [{ terms: [{ column: 'no', value: 1 }] }] }, 'terms[0].terms[0].column', ''],
    [{ terms: [{}] }, 'terms[0].column', ''],
    [{ terms: ['id'] }, 'terms[0]', ''],
    [{ terms: { column: 'id' } }, 'terms', ''],
    [{ terms: Array.from({ length: 101 }, () => ({ column: 'id', value: 'x' })) }, 'terms', ''],
    [{ sorts: [{ name: 'color' }] }, 'sorts[0].name', ''],
    [{ sorts: [{ name: 'id', order: 'up' }] }, 'sorts[0].order', ''],
    [{ orderBy: 'id asc, color desc' }, 'orderBy', 'at character 9:'],
    [{ orderBy: 'id; drop table devices' }, 'orderBy', 'at character 1:'],
    [{ includes: ['secret'] }, 'includes[0]', ''],
    [{ excludes: 'id,secret' }, 'excludes[1]', ''],
    [{ pageSize: 0 }, 'pageSize', ''],
    [{ pageIndex: 0, firstPageIndex: 1 }, 'pageIndex', ''],
    [{ pageSize: 1.5 }, 'pageSize', ''],
    [{ paging: 'no' }, 'paging', ''],
    [[], 'body', ''],
  ])('is rejected with its position: %.80j', (body, property, position) => {
    const message = expect.stringMatching(new RegExp(`^${position}`));
    expect(problemsOf(body)).toEqual([{ property, message }]);
  });

  test.each([
    ['terms[0].colum=id', 'terms[0].colum'],
    ['terms[0]=id', 'terms[0]'],
    ['terms[0].column=id&terms[0].value=a&terms[0].value=b', 'terms[0].value'],
    ['terms[5].column=color&terms[5].value=red', 'terms[5].column'],
    ['sorts[0].name=id&sorts[0].direction=asc', 'sorts[0].direction'],
    ['where=id%20~%20a', 'where'],
  ])('is rejected in the GET form: %s', (parameters, property) => {
    const problems = problemsOf(new URLSearchParams(parameters));
    expect(problems).toEqual([{ property, message: expect.any(String) }]);
  });
});
