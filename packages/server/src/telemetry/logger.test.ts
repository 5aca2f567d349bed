import { describe, expect, test } from '@jest/globals';
import { serializeError } from './logger.ts';

const logged = (error: unknown) => JSON.stringify(serializeError(error));

describe('an error in the log', () => {
  test('has its type, code, message, stack and causes', () => {
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const error = new TypeError('no answer', { cause });
    expect(serializeError(error)).toEqual({
      type: 'TypeError',
      message: 'no answer',
      stack: expect.stringContaining('TypeError: no answer'),
      cause: expect.objectContaining({ code: 'ECONNREFUSED', message: 'refused' }),
    });
  });

  test.each([
    ['redis://user:marker@host:6379/0'],
    ['redis://:marker@host'],
    ['rediss://:mar/marker@host'],
    ['redis://:p@marker@host'],
    ['postgres://user:marker@[::1]/db?sslmode=require'],
    ['redis+sentinel://:marker@h1:1,h2:2/m'],
    ['"http://marker@host/"'],
  ])('masks the credentials of %s', (url) => {
    const error = new Error(`cannot connect to ${url} now`);
    expect(logged(error)).toContain('***@');
    expect(logged(error)).toContain(' now');
    expect(logged(error)).not.toContain('marker');
  });

  test.each([
    ['/api/device?access_token=marker'],
    ['https://rp.example/cb?code=marker&state=marker'],
    ['Invalid URL: /authorize?a=b&login_hint=marker'],
  ])('masks the query of %s', (text) => {
    expect(logged(new Error(text))).toContain('?***');
    expect(logged(new Error(text))).not.toContain('marker');
  });

  test('masks nested causes and the errors of an aggregate', () => {
    const inner = new Error('redis://:marker@inner');
    const aggregate = new AggregateError([inner, 'marker'], 'redis://:marker@all');
    const outer = new Error('outer', { cause: new Error('middle', { cause: aggregate }) });
    expect(logged(outer)).toContain('redis://***@inner');
    expect(logged(outer)).toContain('redis://***@all');
    expect(logged(outer)).not.toContain('marker');
  });

  test('logs only the type of a thrown value that is not an error', () => {
    expect(serializeError('marker')).toEqual({ type: 'string' });
    expect(serializeError({ secret: 'marker' })).toEqual({ type: 'object' });
    const error = Object.assign(new Error('plain', { cause: 'marker' }), { password: 'marker' });
    expect(logged(error)).not.toContain('marker');
  });

  test('handles causes that refer to each other', () => {
    const error = new Error('first');
    error.cause = new Error('second', { cause: error });
    expect(logged(error).length).toBeLessThan(100_000);
  });
});
