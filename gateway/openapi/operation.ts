/** One route's documentation, before it becomes part of the OpenAPI document. */

import { type ErrorCode, PARAMETER_CODES } from '../../api/errors.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { ErrorDialect } from '../http/error-response.ts';
import type { JsonSchema } from '../text/fields.ts';

/** Facts of a deployment for the document; without `modelId`, of any deployment of these kinds. */
export type Facts = Partial<Pick<GatewayConfig, 'modelId'>> &
  Pick<GatewayConfig, 'limits' | 'image' | 'video' | 'enginePreset'>;

/** Names of the schemas under `components`. */
export type SchemaName = keyof typeof import('./response-schemas.ts').RESPONSE_SCHEMAS;

export interface Parameter {
  name: string;
  in: 'query' | 'header';
  description: string;
  schema: JsonSchema;
}

export interface Body {
  type: 'application/json' | 'multipart/form-data';
  required: readonly string[];
  properties: Readonly<Record<string, JsonSchema>>;
  /** Media types of its files. */
  files?: Readonly<Record<string, string>>;
}

export interface OperationAnswer {
  description: string;
  /** JSON of this schema; without it the response has no body. */
  schema?: SchemaName;
  /** For responses that are not JSON. */
  types?: readonly string[];
  /** Also returned, if a stream is requested. */
  canStream?: boolean;
  headers?: Readonly<Record<string, { description: string; schema: JsonSchema; required?: boolean }>>;
}

/** A code, with the status if it differs from that in the table of errors. */
export type OperationError = ErrorCode | readonly [ErrorCode, number];

/** A value that the engine or the model refuses. */
export const UNPROCESSABLE_ERRORS = (['invalid_request_error', ...PARAMETER_CODES] as const).map(
  (code) => [code, 422] as const,
);

export interface Operation {
  summary: string;
  description?: string;
  parameters?: readonly Parameter[];
  /** One for each encoding that the route takes. */
  body?: Body | readonly Body[];
  answers: Readonly<Record<number, OperationAnswer>>;
  /** Besides those that every route returns. */
  errors: readonly OperationError[];
  /** OpenAI's if absent. */
  dialect?: ErrorDialect;
}

/** Allows null in JSON bodies, where it counts as absent. */
export function allowNull(schema: JsonSchema): JsonSchema {
  const { type, enum: values, anyOf, const: only } = schema;
  if (only !== undefined) return { enum: [only, null] };
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] };
  return {
    ...schema,
    ...(typeof type === 'string' && { type: [type, 'null'] }),
    ...(Array.isArray(values) && { enum: [...values, null] }),
  };
}

/** A JSON body; optional members may be null, unknown ones are ignored or forwarded. */
export const jsonBody = (properties: Record<string, JsonSchema>, required: readonly string[]): Body => ({
  type: 'application/json',
  required,
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      required.includes(name) ? schema : allowNull(schema),
    ]),
  ),
});

export const BODY_ERRORS = [
  'request_too_large',
  'request_timeout',
  'unsupported_encoding',
  'unsupported_media_type',
] as const satisfies readonly OperationError[];
