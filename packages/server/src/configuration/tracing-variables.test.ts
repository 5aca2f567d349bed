import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { parseEnvironment } from './environment.ts';
import { resolveTracing, tracingVariables } from './tracing-variables.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const read = (environment: Record<string, string>) =>
  resolveTracing(parseEnvironment(z.object(tracingVariables), environment));

describe('tracing', () => {
  test('is off without an endpoint', () => {
    expect(read({})).toBeUndefined();
    expect(read({ OTEL_TRACES_SAMPLER: 'always_on' })).toBeUndefined();
  });

  test.each([
    [{}, true, 1],
    [{ OTEL_TRACES_SAMPLER: 'always_on' }, false, 1],
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, false, 0],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, true, 0],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' }, false, 0.01],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '.5' }, true, 0.5],
  ])('with %j follows the caller: %s, ratio: %d', (variables, followsCaller, ratio) => {
    expect(read({ ...endpoint, ...variables })).toEqual({ followsCaller, ratio });
  });

  test.each([
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://collector:4317' },
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://user:marker@collector:4318' },
    { ...endpoint, OTEL_TRACES_SAMPLER: 'marker' },
    { ...endpoint, OTEL_TRACES_SAMPLER_ARG: '1.5' },
    { ...endpoint, OTEL_TRACES_SAMPLER_ARG: '-1' },
    { ...endpoint, OTEL_TRACES_SAMPLER_ARG: '1e-2' },
  ])('rejects %j without quoting it', (variables) => {
    expect(() => read(variables)).toThrow(/must be/);
    expect(() => read(variables)).not.toThrow(/marker/);
  });
});
