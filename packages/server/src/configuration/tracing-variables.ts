import { z } from 'zod';

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const endpoint = z.string().refine(
  (text) => {
    const url = URL.parse(text);
    const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
    return isHttp && url?.username === '' && url.password === '';
  },
  { message: 'must be an http(s) address without credentials' },
);

/** The standard variables of OpenTelemetry that Gatehouse reads. The exporter reads others. */
export const tracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint.optional().meta({
    description: 'Address of an OpenTelemetry collector for [traces](#traces).',
    default: 'none: no traces',
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint
    .optional()
    .meta({ description: 'Address that receives traces.', default: 'the endpoint + `/v1/traces`' }),
  OTEL_TRACES_SAMPLER: z
    .enum(samplers, {
      message: `must be ${samplers.slice(0, -1).join(', ')} or ${samplers.at(-1)}`,
    })
    .default('parentbased_always_on')
    .describe('Which requests have spans.'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(?:0|1|[01]?\.\d{1,9})$/, 'must be a number, 0 to 1')
    .transform(Number)
    .refine((ratio) => ratio <= 1, 'must be a number, 0 to 1')
    .default(1)
    .describe('Part of the requests for `traceidratio` and `parentbased_traceidratio`, 0 to 1.'),
};

/** @returns undefined if no endpoint is set: tracing is off */
export function resolveTracing(read: {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string | undefined;
  readonly OTEL_TRACES_SAMPLER: (typeof samplers)[number];
  readonly OTEL_TRACES_SAMPLER_ARG: number;
}): { readonly followsCaller: boolean; readonly ratio: number } | undefined {
  const sampler = read.OTEL_TRACES_SAMPLER;
  if ((read.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? read.OTEL_EXPORTER_OTLP_ENDPOINT) === undefined) {
    return undefined;
  }
  const followsCaller = sampler.startsWith('parentbased_');
  if (sampler.endsWith('traceidratio')) {
    return { followsCaller, ratio: read.OTEL_TRACES_SAMPLER_ARG };
  }
  return { followsCaller, ratio: sampler.endsWith('always_on') ? 1 : 0 };
}
